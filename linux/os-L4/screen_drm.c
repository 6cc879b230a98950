// SPDX-License-Identifier: GPL-2.0
/*
 * The screen as a device of DRM: one mode, a plane whose damaged rectangles are copied to the memory that the screen
 * server reads.  fbdev and the text console are DRM's own emulation.
 *
 * A program that changed the picture waits until it is on the screen; if it asked for an event, it also waits for the
 * period of the screen.
 */
#include <linux/cacheflush.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/platform_device.h>
#include <linux/string.h>
#include <drm/drm_atomic.h>
#include <drm/drm_atomic_helper.h>
#include <drm/drm_damage_helper.h>
#include <drm/drm_drv.h>
#include <drm/drm_fbdev_shmem.h>
#include <drm/drm_format_helper.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_framebuffer.h>
#include <drm/drm_gem_atomic_helper.h>
#include <drm/drm_gem_framebuffer_helper.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_managed.h>
#include <drm/drm_modeset_helper_vtables.h>
#include <drm/drm_probe_helper.h>
#include <drm/drm_simple_kms_helper.h>
#include <drm/drm_vblank.h>
#include "screen.h"

/* Dots per inch: the sizes that programs derive from it are right for the usual screen. */
#define DENSITY		96
/* The longest wait for the server, which may be dead: a second, in nanoseconds. */
#define PATIENCE	NSEC_PER_SEC

static struct drm_device *drm;
static struct drm_simple_display_pipe pipe;
static struct drm_connector connector;
static struct drm_display_mode mode;

/* The event of the last change, if it was not sent yet. */
static struct drm_pending_vblank_event *event;
static ktime_t earliest, latest, last;	/* when that may be, when it has to be, and when it was before */
static struct hrtimer timer;

static u64 period(void)
{
	return NSEC_PER_SEC / l4_screen.refresh;
}

void l4_screen_drm_advance(void)
{
	bool drawn = l4_screen_is_drawn();
	ktime_t now = ktime_get(), due = drawn ? earliest : latest;
	unsigned long flags;

	if (!event)
		return;
	if (ktime_before(now, due)) {
		hrtimer_start(&timer, due, HRTIMER_MODE_ABS_SOFT);
		return;
	}
	spin_lock_irqsave(&drm->event_lock, flags);
	drm_crtc_send_vblank_event(&pipe.crtc, event);
	event = NULL;
	spin_unlock_irqrestore(&drm->event_lock, flags);
	last = now;
}

static enum hrtimer_restart time_has_come(struct hrtimer *timer)
{
	l4_screen_drm_advance();
	return HRTIMER_NORESTART;
}

/* Takes the event of a change, which l4_screen_drm_advance() sends. */
static void take_event(struct drm_crtc *crtc)
{
	ktime_t now = ktime_get();

	if (!crtc->state->event)
		return;
	/*
	 * No change begins before the event of the previous one was sent.  If one does, the previous one has waited
	 * long enough.
	 */
	if (event) {
		earliest = latest = now;
		l4_screen_drm_advance();
	}
	event = crtc->state->event;
	crtc->state->event = NULL;
	/* A program draws its next picture then. */
	earliest = event->base.file_priv ? ktime_add_ns(last, period()) : now;
	latest = max(earliest, ktime_add_ns(now, PATIENCE));
}

/* Where caches are virtual the kernel may have lines of what a program has written since. */
static void see_what_was_written(const struct drm_framebuffer *fb, const struct iosys_map *data, const struct drm_rect *rect)
{
	unsigned long start = (unsigned long)data->vaddr + rect->y1 * fb->pitches[0];

	if (IS_ENABLED(CONFIG_UML_VIRTUAL_CACHES))
		flush_cache_vunmap(start, start + drm_rect_height(rect) * fb->pitches[0]);
}

static void update(struct drm_simple_display_pipe *pipe, struct drm_plane_state *old)
{
	struct drm_plane_state *state = pipe->plane.state;
	struct drm_shadow_plane_state *shadow = to_drm_shadow_plane_state(state);
	const unsigned int pitch = l4_screen.width * sizeof(u32);
	struct drm_atomic_helper_damage_iter iter;
	struct drm_framebuffer *fb = state->fb;
	struct drm_rect rect;

	if (!fb || drm_gem_fb_begin_cpu_access(fb, DMA_FROM_DEVICE))
		return;
	drm_atomic_helper_damage_iter_init(&iter, old, state);
	drm_atomic_for_each_plane_damage(&iter, &rect) {
		struct iosys_map to = IOSYS_MAP_INIT_VADDR(l4_screen_pixels() + rect.y1 * pitch + rect.x1 * sizeof(u32));

		see_what_was_written(fb, shadow->data, &rect);
		drm_fb_memcpy(&to, &pitch, shadow->data, fb, &rect);
		local_bh_disable();
		l4_screen_add(&rect);
		local_bh_enable();
	}
	drm_gem_fb_end_cpu_access(fb, DMA_FROM_DEVICE);
	local_bh_disable();
	l4_screen_show();
	take_event(&pipe->crtc);
	l4_screen_drm_advance();
	local_bh_enable();
}

/* The plane is updated as a whole then. */
static void enable(struct drm_simple_display_pipe *pipe, struct drm_crtc_state *crtc, struct drm_plane_state *plane)
{
}

static void disable(struct drm_simple_display_pipe *pipe)
{
	const struct drm_rect all = DRM_RECT_INIT(0, 0, l4_screen.width, l4_screen.height);

	memset(l4_screen_pixels(), 0, l4_screen.width * l4_screen.height * sizeof(u32));
	local_bh_disable();
	l4_screen_add(&all);
	l4_screen_show();
	local_bh_enable();
}

static const struct drm_simple_display_pipe_funcs pipe_funcs = {
	.enable = enable,
	.disable = disable,
	.update = update,
	DRM_GEM_SIMPLE_DISPLAY_PIPE_SHADOW_PLANE_FUNCS,
};

static int get_modes(struct drm_connector *connector)
{
	return drm_connector_helper_get_modes_fixed(connector, &mode);
}

static const struct drm_connector_helper_funcs connector_helper = { .get_modes = get_modes };

static const struct drm_connector_funcs connector_funcs = {
	.reset = drm_atomic_helper_connector_reset,
	.fill_modes = drm_helper_probe_single_connector_modes,
	.destroy = drm_connector_cleanup,
	.atomic_duplicate_state = drm_atomic_helper_connector_duplicate_state,
	.atomic_destroy_state = drm_atomic_helper_connector_destroy_state,
};

static const struct drm_mode_config_funcs mode_funcs = {
	.fb_create = drm_gem_fb_create_with_dirty,
	.atomic_check = drm_atomic_helper_check,
	.atomic_commit = drm_atomic_helper_commit,
};

DEFINE_DRM_GEM_FOPS(file_operations);

static const struct drm_driver driver = {
	.name = "l4screen",
	.desc = "the screen of an L4 system",
	.date = "20261129",
	.major = 1,
	.driver_features = DRIVER_GEM | DRIVER_MODESET | DRIVER_ATOMIC,
	.fops = &file_operations,
	DRM_GEM_SHMEM_DRIVER_OPS,
};

static const u32 formats[] = { DRM_FORMAT_XRGB8888 };
static const u64 modifiers[] = { DRM_FORMAT_MOD_LINEAR, DRM_FORMAT_MOD_INVALID };

/* What is left after an error stays: it was made at boot, and once. */
int l4_screen_drm_init(void)
{
	const u32 width = l4_screen.width, height = l4_screen.height;
	struct platform_device *parent = platform_device_register_simple("l4screen", PLATFORM_DEVID_NONE, NULL, 0);
	int err;

	if (IS_ERR(parent))
		return PTR_ERR(parent);
	drm = drm_dev_alloc(&driver, &parent->dev);
	if (IS_ERR(drm))
		return PTR_ERR(drm);
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer.function = time_has_come;
	mode = (struct drm_display_mode){
		DRM_MODE_INIT(l4_screen.refresh, width, height, DRM_MODE_RES_MM(width, DENSITY), DRM_MODE_RES_MM(height, DENSITY))
	};
	err = drmm_mode_config_init(drm);
	if (err)
		return err;
	drm->mode_config.min_width = drm->mode_config.max_width = width;
	drm->mode_config.min_height = drm->mode_config.max_height = height;
	drm->mode_config.preferred_depth = 24;
	drm->mode_config.funcs = &mode_funcs;
	err = drm_connector_init(drm, &connector, &connector_funcs, DRM_MODE_CONNECTOR_VIRTUAL);
	if (err)
		return err;
	drm_connector_helper_add(&connector, &connector_helper);
	err = drm_simple_display_pipe_init(drm, &pipe, &pipe_funcs, formats, ARRAY_SIZE(formats), modifiers, &connector);
	if (err)
		return err;
	drm_plane_enable_fb_damage_clips(&pipe.plane);
	drm_mode_config_reset(drm);
	err = drm_dev_register(drm, 0);
	if (err)
		return err;
	drm_fbdev_shmem_setup(drm, 32);
	return 0;
}
