// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plot as SVG.

use crate::figures::Chart;
use crate::json::short;
use anyhow::{Result, anyhow};
use plotters::prelude::*;

/// The size in pixels, at full width.
const SIZE: (u32, u32) = (760, 380);
/// The colours of the lines, in their order: two that everybody can distinguish.
const COLOURS: [RGBColor; 2] = [RGBColor(0xc0, 0x50, 0x18), RGBColor(0x20, 0x60, 0xa0)];

/// Draws the plot.
///
/// # Errors
/// If the library cannot draw.
pub fn plot(chart: &Chart) -> Result<String> {
    let mut svg = String::new();
    draw(chart, &mut svg)
        .map_err(|why| anyhow!("the plot `{}` cannot be drawn: {why}", chart.title))?;
    Ok(svg)
}

fn draw(chart: &Chart, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(1.0, f64::max);
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut plot =
        ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(48)
            .y_label_area_size(84)
            .build_cartesian_2d(0.0..most(|point| point.0), 0.0..most(|point| point.1) * 1.08)?;
    let number = |value: &f64| short(*value);
    plot.configure_mesh()
        .x_desc(&chart.x)
        .y_desc(&chart.y)
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(0xe4, 0xe4, 0xe4))
        .label_style(("sans-serif", 16))
        .axis_desc_style(("sans-serif", 17))
        .draw()?;
    for (line, colour) in chart.lines.iter().zip(COLOURS) {
        let drawn = plot.draw_series(
            LineSeries::new(line.points.clone(), colour.stroke_width(2)).point_size(3),
        )?;
        drawn
            .label(&line.label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(2)));
    }
    plot.configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .border_style(RGBColor(0xc0, 0xc0, 0xc0))
        .label_font(("sans-serif", 16))
        .draw()?;
    area.present()?;
    Ok(())
}
