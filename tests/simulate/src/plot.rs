//! Line charts against the number of processes, both axes logarithmic, as SVG text that is the same in every run.

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

/// Panels beside each other.
const COLUMNS: usize = 3;
/// Pixels of a panel, and of a line of the legend.
const PANEL: (u32, u32) = (320, 250);
const LEGEND: u32 = 20;

/// Draws panels below a legend of all their lines. Points that are not above zero cannot be shown on a logarithmic axis and are left out.
///
/// # Errors
/// What the drawing library says.
pub fn chart(panels: &[Panel]) -> Result<String, String> {
    let mut text = String::new();
    draw(&mut text, panels).map_err(|e| e.to_string())?;
    Ok(text)
}

fn draw<'a>(
    text: &'a mut String,
    panels: &[Panel],
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in panels.iter().flat_map(|panel| &panel.lines) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let (across, down) = (panels.len().min(COLUMNS), panels.len().div_ceil(COLUMNS));
    let top = LEGEND * names.len().div_ceil(COLUMNS) as u32 + 10;
    let area = SVGBackend::with_string(text, (PANEL.0 * COLUMNS as u32, top + PANEL.1 * down as u32))
        .into_drawing_area();
    area.fill(&WHITE)?;
    let (legend, rest) = area.split_vertically(top);
    for (index, name) in names.iter().enumerate() {
        let x = (index % COLUMNS) as i32 * PANEL.0 as i32 + 20;
        let y = (index / COLUMNS) as i32 * LEGEND as i32 + 14;
        legend.draw(&PathElement::new([(x, y), (x + 24, y)], colour(index)))?;
        legend.draw(&Text::new(name.to_string(), (x + 32, y - 7), ("sans-serif", 14)))?;
    }
    let (rest, _) = rest.split_horizontally(PANEL.0 * across as u32);
    for (area, panel) in rest.split_evenly((down, across)).iter().zip(panels) {
        draw_panel(area, panel, &names)?;
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
        .build_cartesian_2d(x.log_scale().base(2.0), (y.start / 1.5..y.end * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("processes")
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
