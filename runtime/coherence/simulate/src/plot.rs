//! Line charts against the number of processes, both axes logarithmic, as SVG text that is the same in every run.

use plotters::prelude::*;
use plotters::style::Palette99;

/// A line: its name and its points, in order.
pub type Line = (String, Vec<(f64, f64)>);

/// Draws lines. Points that are not above zero cannot be shown on a logarithmic axis and are left out.
///
/// # Errors
/// What the drawing library says.
pub fn chart(title: &str, unit: &str, lines: &[Line]) -> Result<String, String> {
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, (760, 460)), title, unit, lines).map_err(|e| e.to_string())?;
    Ok(text)
}

fn draw<'a>(
    backend: SVGBackend<'a>,
    title: &str,
    unit: &str,
    lines: &[Line],
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>> {
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let points = || lines.iter().flat_map(|(_, points)| points).filter(|(_, y)| *y > 0.0);
    let range = |value: fn(&(f64, f64)) -> f64| {
        let (low, high) = points().map(value).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        if low <= high { low..high } else { 1.0..2.0 }
    };
    let (x, y) = (range(|p| p.0), range(|p| p.1));
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(72)
        .build_cartesian_2d(x.log_scale().base(2.0), (y.start / 1.5..y.end * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("processes")
        .y_desc(unit)
        .x_labels(13)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| if *y < 1.0 { format!("{y}") } else { format!("{y:.0}") })
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (index, (name, points)) in lines.iter().enumerate() {
        let colour = Palette99::pick(index).stroke_width(2);
        let shown: Vec<_> = points.iter().copied().filter(|(_, y)| *y > 0.0).collect();
        chart
            .draw_series(LineSeries::new(shown, colour).point_size(3))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()
}
