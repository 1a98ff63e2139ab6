//! Line charts with logarithmic axes, as SVG text that is the same whenever the numbers are.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::Palette99;

/// A line: its name and its points, in order.
pub type Line = (String, Vec<(f64, f64)>);

/// One chart among several that have the same lines.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows, with the unit.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// Pixels of a panel, and of a line of the legend.
const PANEL: (u32, u32) = (320, 250);
const LEGEND: u32 = 20;

/// Panels with the same horizontal axis.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What the horizontal axis shows.
    pub x_title: String,
    /// Panels beside each other.
    pub columns: usize,
    /// All of them.
    pub panels: Vec<Panel>,
}

/// Draws panels below a legend of all their lines. Points that are not above zero cannot be shown on a logarithmic axis and are left out.
///
/// # Errors
/// What the drawing library says.
pub fn draw(chart: &Chart) -> Result<String, String> {
    let mut text = String::new();
    draw_to(&mut text, chart).map_err(|e| e.to_string())?;
    Ok(text)
}

fn draw_to<'a>(
    text: &'a mut String,
    chart: &Chart,
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>> {
    let Chart { x_title, columns, panels } = chart;
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in panels.iter().flat_map(|panel| &panel.lines) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let (across, down) = (panels.len().min(*columns), panels.len().div_ceil(*columns));
    let top = LEGEND * names.len().div_ceil(*columns) as u32 + 10;
    let area = SVGBackend::with_string(text, (PANEL.0 * *columns as u32, top + PANEL.1 * down as u32))
        .into_drawing_area();
    area.fill(&WHITE)?;
    let (legend, rest) = area.split_vertically(top);
    for (index, name) in names.iter().enumerate() {
        let x = (index % columns) as i32 * PANEL.0 as i32 + 20;
        let y = (index / columns) as i32 * LEGEND as i32 + 14;
        legend.draw(&PathElement::new([(x, y), (x + 24, y)], colour(index)))?;
        legend.draw(&Text::new(name.to_string(), (x + 32, y - 7), ("sans-serif", 14)))?;
    }
    let (rest, _) = rest.split_horizontally(PANEL.0 * across as u32);
    for (area, panel) in rest.split_evenly((down, across)).iter().zip(panels) {
        draw_panel(area, panel, x_title, &names)?;
    }
    area.present()
}

/// The same colour for the same line in all panels.
fn colour(index: usize) -> ShapeStyle {
    Palette99::pick(index).stroke_width(2)
}

fn draw_panel<'a>(
    area: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    panel: &Panel,
    x_title: &str,
    names: &[&str],
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>> {
    let points = || panel.lines.iter().flat_map(|(_, points)| points);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        if low <= high { low..high } else { 1.0..2.0 }
    };
    let x = range(&mut points().map(|(x, _)| *x));
    let y = range(&mut points().map(|(_, y)| *y).filter(|y| *y > 0.0));
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 13))
        .margin(6)
        .x_label_area_size(34)
        .y_label_area_size(52)
        .build_cartesian_2d(x.log_scale().base(2.0), labelled(y.start / 1.5..y.end * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(x_title)
        .x_labels(7)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| if *y < 1.0 { format!("{y}") } else { format!("{y:.0}") })
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (name, points) in &panel.lines {
        let index = names.iter().position(|known| known == name).expect("a name of the legend");
        let shown: Vec<_> = points.iter().copied().filter(|(_, y)| *y > 0.0).collect();
        chart.draw_series(LineSeries::new(shown, colour(index)).point_size(2))?;
    }
    Ok(())
}

/// A range that holds a power of ten: the axis has labels there only, if it is short.
fn labelled(range: Range<f64>) -> Range<f64> {
    let below = 10f64.powf(range.start.log10().floor());
    if below * 10.0 <= range.end { range } else { below..range.end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_has_a_label() {
        assert_eq!((labelled(15.0..90.0), labelled(8.0..90.0)), (10.0..90.0, 8.0..90.0));
    }

    #[test]
    fn lines_have_their_names_and_panels_their_titles() {
        let lines = vec![("one".to_owned(), vec![(64.0, 2e7), (128.0, 3e7), (256.0, 0.0)])];
        let panels = vec![Panel { title: "bytes".into(), lines }];
        let text = draw(&Chart { x_title: "block".into(), columns: 2, panels }).expect("it can be drawn");
        for part in ["one", "bytes", "block", "10000000", "128"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
