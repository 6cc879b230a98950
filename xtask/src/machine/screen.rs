// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a person sees the screen of an emulated machine: the option `--screen`, with a window, VNC,
//! or a picture.

use super::network::free_port;
use super::xserver::Display;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

/// What `--screen` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// A window if this QEMU has one, else VNC.
    #[default]
    Usual,
    /// VNC.
    Vnc,
    /// A picture at the end of `--batch`.
    Picture(PathBuf),
}

impl Wanted {
    /// Where a picture goes.
    pub fn picture(&self) -> Option<&Path> {
        match self {
            Self::Picture(file) => Some(file),
            Self::Usual | Self::Vnc => None,
        }
    }
}

/// The value of `--screen` without one.
pub const USUAL: &str = "window";

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            USUAL => Ok(Self::Usual),
            "vnc" => Ok(Self::Vnc),
            file if file.ends_with(".png") => Ok(Self::Picture(
                std::path::absolute(file).map_err(|error| format!("{file}: {error}"))?,
            )),
            other => Err(format!(
                "`{other}` is neither `vnc` nor a file NAME.png: leave it out for a window"
            )),
        }
    }
}

/// The screen of a machine that drives one.
#[derive(Clone)]
pub struct Screen {
    /// QEMU's arguments for its devices.
    pub devices: Vec<String>,
    /// Bochs' settings for them.
    pub bochs: Option<String>,
    /// How it is shown to who runs the machine on a terminal.
    pub wanted: Wanted,
}

/// The variable with the name of an X server.
pub const DISPLAY: &str = "DISPLAY";
/// The environment's name of the file with its cookie.
pub const AUTHORITY: &str = "XAUTHORITY";

/// That of who runs a machine in Bochs, which shows pixels in an X server's window only.
///
/// # Errors
/// If there is none, or something else is asked for.
pub fn x_server(screen: &Screen) -> Result<Display> {
    ensure!(
        screen.wanted == Wanted::Usual,
        "Bochs shows a screen in a window: leave out what stands after `--screen`, or `--on bochs`"
    );
    let found = std::env::var(DISPLAY).ok().filter(|display| !display.is_empty());
    let name = found.context("Bochs shows a screen in a window of X, and DISPLAY is not set: set it, or leave out `--on bochs`")?;
    Ok(Display { name, authority: None })
}

/// QEMU's windows, the best one first.
const WINDOWS: [&str; 2] = ["gtk", "sdl"];
/// VNC's display 0 is this port.
const VNC: u16 = 5900;

/// Where the screen of a machine that runs on this terminal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In a window that QEMU calls so.
    Window(&'static str),
    /// At this port of the loopback interface, and why not in a window.
    Vnc(u16, Option<&'static str>),
}

impl Shown {
    /// As it is asked for, of a QEMU.
    ///
    /// # Errors
    /// If QEMU cannot be run, or no port can be had.
    pub fn of(wanted: &Wanted, qemu: &str) -> Result<Self> {
        if *wanted == Wanted::Vnc {
            return Self::vnc(None);
        }
        let desktop = [DISPLAY, "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        match window(&windows(qemu)?, desktop) {
            Ok(window) => Ok(Self::Window(window)),
            Err(why) => Self::vnc(Some(why)),
        }
    }

    fn vnc(why: Option<&'static str>) -> Result<Self> {
        let port = free_port()?;
        ensure!(port >= VNC, "this machine gave port {port}, and QEMU serves VNC from {VNC} on");
        Ok(Self::Vnc(port, why))
    }

    /// Arguments for QEMU, which take the place of the board's `-display`.
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Self::Window(name) => vec!["-display".into(), (*name).into()],
            Self::Vnc(port, _) => vec!["-vnc".into(), format!("127.0.0.1:{}", port - VNC)],
        }
    }

    /// What to tell who wants to see it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Window(_) => None,
            Self::Vnc(port, why) => {
                let why = why.map_or_else(String::new, |why| format!(" ({why})"));
                Some(format!(
                    "the screen is at 127.0.0.1:{port} for a viewer of VNC, as `vncviewer 127.0.0.1::{port}`{why}"
                ))
            }
        }
    }
}

/// What a QEMU says to have of displays.
fn windows(qemu: &str) -> Result<String> {
    let output = Command::new(qemu).args(["-display", "help"]).stdin(Stdio::null()).output();
    let output = output
        .with_context(|| format!("cannot run {qemu}: `./macadamia doctor` says what is missing"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The window to open, of those that QEMU lists; or why there is none.
fn window(listed: &str, desktop: bool) -> Result<&'static str, &'static str> {
    let found = WINDOWS.into_iter().find(|name| listed.lines().any(|line| line.trim() == *name));
    match (found, desktop) {
        (Some(window), true) => Ok(window),
        (Some(_), false) => Err("there is no window: neither DISPLAY nor WAYLAND_DISPLAY is set"),
        (None, _) => {
            Err("this QEMU has no window: `apt-get install qemu-system-gui/bookworm-backports`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_asked_for() {
        assert_eq!(USUAL.parse(), Ok(Wanted::Usual));
        assert_eq!("vnc".parse(), Ok(Wanted::Vnc));
        assert!(
            "a.png"
                .parse()
                .is_ok_and(|wanted| matches!(wanted, Wanted::Picture(file) if file.is_absolute()))
        );
        let error = "a.jpg".parse::<Wanted>().expect_err("no such picture");
        assert!(error.contains("neither `vnc` nor a file NAME.png"), "{error}");
    }

    #[test]
    fn a_window_if_there_is_one() {
        let all = "Available display backend types:\nnone\ngtk\nsdl\ncurses\n";
        assert_eq!(window(all, true), Ok("gtk"));
        assert_eq!(window("none\nsdl\n", true), Ok("sdl"));
        assert!(window(all, false).is_err_and(|why| why.contains("DISPLAY")));
        assert!(window("none\ncurses\n", true).is_err_and(|why| why.contains("qemu-system-gui")));
        assert_eq!(Shown::Vnc(5977, None).arguments(), ["-vnc", "127.0.0.1:77"]);
    }
}
