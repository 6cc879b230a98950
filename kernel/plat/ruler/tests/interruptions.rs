// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine that is stopped again and again while both counters continue, as an emulator is on a
//! busy host: the frequency is found, or refused.

use proptest::prelude::*;
use ruler::{Bounds, Fault, Look, scale};

/// Ticks a second of the PC's timer, and how many it counts until it begins again.
const RATE: u64 = 1_193_182;
const WRAP: u64 = 0xffff;
const SECOND: u128 = 1_000_000_000;

/// Time in nanoseconds, and when the host stops the machine for how long.
struct Machine {
    now: u64,
    hertz: u64,
    /// Beginning and length of each stop, in order.
    stops: Vec<(u64, u64)>,
}

impl Machine {
    /// Runs for so long; a stop that begins meanwhile is added.
    fn run(&mut self, nanoseconds: u64) {
        self.now += nanoseconds;
        while let Some(&(at, length)) = self.stops.first().filter(|stop| stop.0 <= self.now) {
            self.now += length;
            self.stops.remove(0);
            for later in &mut self.stops {
                later.0 = later.0.max(at) + length;
            }
        }
    }

    fn counter(&self) -> u64 {
        (u128::from(self.now) * u128::from(self.hertz) / SECOND) as u64
    }

    fn ruler(&self, start: u64) -> u64 {
        (u128::from(self.now - start) * u128::from(RATE) / SECOND) as u64
    }

    /// As the kernel measures (`plat_pc::tsc`), a microsecond for each access.
    fn measure(&mut self, runs: u32) -> Bounds {
        let mut bounds = Bounds::new(RATE);
        for _ in 0..runs {
            bounds.begin();
            self.run(1_000);
            let start = self.now;
            while !bounds.is_decided() {
                self.run(50);
                let before = self.counter();
                self.run(1_000);
                let ruler = self.ruler(start);
                self.run(50);
                let after = self.counter();
                self.run(3_000);
                if self.ruler(start) >= WRAP {
                    break;
                }
                bounds.add(Look { before, ruler: ruler as u32, after });
            }
        }
        bounds
    }

    /// As it was before: the median of three times that 10 ms seem to take.
    fn median_of_three(&mut self) -> u64 {
        let mut found: Vec<u64> = (0..3)
            .map(|_| {
                self.run(4_000);
                let start = self.now;
                self.run(50);
                let counter = self.counter();
                while self.ruler(start) < RATE / 100 {
                    self.run(1_000);
                }
                (self.counter() - counter) * 100
            })
            .collect();
        found.sort_unstable();
        found[1]
    }
}

/// How far `found` is from `real`, in millionths.
fn error(found: u64, real: u64) -> u64 {
    (u128::from(found.abs_diff(real)) * 1_000_000 / u128::from(real)) as u64
}

/// Stops of up to 30 ms, up to 12 ms apart: less than half of a processor is left.
fn busy() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let stop = (0..12_000_000u64, 100_000..30_000_000u64);
    proptest::collection::vec(stop, 0..200).prop_map(|stops| {
        let mut at = 0;
        let place = |(pause, length): (u64, u64)| {
            at += pause;
            (at, length)
        };
        stops.into_iter().map(place).collect()
    })
}

proptest! {
    #[test]
    fn stops_do_not_matter(hertz in 20_000_000..6_000_000_000u64, begin in 0..1u64 << 40, stops in busy()) {
        let stops = stops.into_iter().map(|(at, length)| (begin + at, length)).collect();
        let bounds = Machine { now: begin, hertz, stops }.measure(40);
        let found = bounds.frequency();
        prop_assert!(found.is_ok_and(|found| error(found, hertz) <= 500), "{found:?} for {hertz}");
    }

    #[test]
    fn an_idle_machine_needs_one_run(hertz in 20_000_000..6_000_000_000u64) {
        let mut machine = Machine { now: 0, hertz, stops: Vec::new() };
        let found = machine.measure(1).frequency();
        prop_assert!(found.is_ok_and(|found| error(found, hertz) <= 125), "{found:?} for {hertz}");
        prop_assert!(machine.now < 40_000_000, "it took {} ns", machine.now);
    }

    #[test]
    fn an_hour_is_an_hour(hertz in 20_000_000..6_000_000_000u64, hours in 1..100_000u64) {
        let (mult, shift) = scale(hertz);
        let time = abi::kip::scale(hertz * 3600 * hours, mult, shift);
        prop_assert!(error(time, 3_600_000_000_000 * hours) == 0, "{time}");
    }
}

/// What made a clock wrong: of three measurements two were interrupted.
#[test]
fn a_median_is_misled() {
    let stops = vec![(9_000_000, 8_000_000), (27_000_000, 8_000_000)];
    let machine = || Machine { now: 0, hertz: 2_000_000_000, stops: stops.clone() };
    assert!(error(machine().median_of_three(), 2_000_000_000) > 40_000);
    assert!(
        machine().measure(40).frequency().is_ok_and(|found| error(found, 2_000_000_000) <= 500)
    );
}

/// Nothing is made up where nothing can be known.
#[test]
fn what_cannot_be_measured_is_refused() {
    assert_eq!(Bounds::new(RATE).frequency(), Err(Fault::Vague));
    let mut still = Bounds::new(RATE);
    (0..10_000)
        .for_each(|i| still.add(Look { before: i * 2_000, ruler: 7, after: i * 2_000 + 100 }));
    assert_eq!(still.frequency(), Err(Fault::Vague));
    // Each look is interrupted: the second half of all time is missing.
    let mut wide = Bounds::new(RATE);
    (0..100).for_each(|i| {
        wide.add(Look {
            before: i * 1_000_000,
            ruler: i as u32 * 596,
            after: i * 1_000_000 + 900_000,
        })
    });
    assert_eq!(wide.frequency(), Err(Fault::Vague));
    // The counter runs at another speed in the second half.
    let mut uneven = Bounds::new(RATE);
    let counter = |i: u64| i * 2_000 + i.saturating_sub(25_000) * 200;
    (0..50_000).step_by(4).for_each(|i| {
        uneven.add(Look { before: counter(i), ruler: i as u32, after: counter(i) + 100 })
    });
    assert_eq!(uneven.frequency(), Err(Fault::Contradiction));
}
