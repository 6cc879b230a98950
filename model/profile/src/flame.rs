// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flame graph: a box for each call path, as wide as its share of the samples, above the box of
//! its caller.

use crate::profile::{Frame, Profile};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const WIDTH: f64 = 1200.0;
const HEIGHT: usize = 16;
/// Width of a character of the font, at most.
const CHARACTER: f64 = 7.0;
/// Boxes that are narrower are left out.
const NARROWEST: f64 = 0.2;

/// Paths with a common beginning.
#[derive(Default)]
struct Node<'a> {
    samples: u64,
    above: BTreeMap<&'a Frame, Node<'a>>,
}

impl Node<'_> {
    fn height(&self) -> usize {
        1 + self.above.values().map(Node::height).max().unwrap_or(0)
    }
}

/// The drawing, in SVG: pointing at a box shows its whole name and share.
#[must_use]
pub fn flame_graph(profile: &Profile, title: &str) -> String {
    let mut all = Node::default();
    for (path, times) in profile.paths() {
        all.samples += times;
        let mut node = &mut all;
        for frame in path {
            node = node.above.entry(frame).or_default();
            node.samples += times;
        }
    }
    let height = (all.height() + 2) * HEIGHT;
    let mut drawing = Drawing { svg: String::new(), samples: all.samples, floor: height - HEIGHT };
    drawing.node(("all", "all"), &all, 0.0, 0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"4\" y=\"12\">{}</text>\n{}</svg>\n",
        escaped(title),
        drawing.svg
    )
}

struct Drawing {
    svg: String,
    samples: u64,
    /// Where the lowest box is.
    floor: usize,
}

impl Drawing {
    fn node(&mut self, (owner, name): (&str, &str), node: &Node<'_>, x: f64, level: usize) {
        let width = WIDTH * node.samples as f64 / self.samples.max(1) as f64;
        if width < NARROWEST {
            return;
        }
        let y = self.floor - level * HEIGHT;
        let shown: String = name.chars().take((width / CHARACTER) as usize).collect();
        let share = 100.0 * node.samples as f64 / self.samples.max(1) as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.svg,
            "<g><title>{} ({}): {} samples, {share:.2} %</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{HEIGHT}\" \
             fill=\"{}\" stroke=\"white\" stroke-width=\"0.5\"/><text x=\"{:.2}\" y=\"{}\">{}</text></g>",
            escaped(name),
            escaped(owner),
            node.samples,
            colour(owner),
            x + 2.0,
            y + HEIGHT - 4,
            escaped(&shown),
        );
        let mut x = x;
        for (frame, above) in &node.above {
            self.node((&frame.owner, &frame.name), above, x, level + 1);
            x += WIDTH * above.samples as f64 / self.samples.max(1) as f64;
        }
    }
}

/// The same for the same owner: red is the kernel's, no other owner's hue is near it.
fn colour(owner: &str) -> String {
    let mixed =
        owner.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let hue = if owner == "kernel" { 10 } else { 40 + mixed % 260 };
    format!("hsl({hue},75%,70%)")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tests::profile;

    #[test]
    fn boxes_are_as_wide_as_their_share() {
        let svg = flame_graph(&profile(), "ping & pong");
        let drawn =
            |title: &str| svg.lines().find(|line| line.contains(title)).map_or("", |line| line);
        assert!(
            drawn("send&lt;a; b&gt; (kernel): 50 samples, 50.00 %")
                .contains("x=\"0.00\" y=\"64\" width=\"600.00\""),
            "{svg}"
        );
        assert!(
            drawn("main (ping): 50 samples").contains("x=\"600.00\" y=\"64\" width=\"600.00\""),
            "{svg}"
        );
        assert!(drawn("again (ping): 30 samples").contains("width=\"360.00\""));
        assert!(svg.contains("ping &amp; pong"));
        assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
    }

    #[test]
    fn nothing_sampled_is_drawn_too() {
        assert!(flame_graph(&Profile::default(), "").ends_with("</svg>\n"));
    }
}
