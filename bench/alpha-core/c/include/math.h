// SPDX-License-Identifier: MIT OR Apache-2.0
// Named in C that nobody calls: the core has no floating point.
#define signbit(x) __builtin_signbit(x)
#define isnan(x) __builtin_isnan(x)
#define NAN __builtin_nanf("")
double floor(double), ceil(double), trunc(double), sqrt(double), nearbyint(double), copysign(double, double), fabs(double);
float floorf(float), ceilf(float), truncf(float), sqrtf(float), nearbyintf(float), copysignf(float, float), fabsf(float);
