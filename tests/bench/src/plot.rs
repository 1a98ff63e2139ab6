//! A report as a picture: for each row its ratio, with a line from the first quartile to the third, on a logarithmic axis.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::report::{Report, Row, Summary};

/// Pixels.
const WIDTH: i32 = 860;
const LABELS: i32 = 270;
const LINE: i32 = 15;
const HEAD: i32 = 34;
const MARGIN: i32 = 20;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Outcome<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// Draws a panel a suite, below each other. Rows without a ratio are left out.
///
/// # Errors
/// What the drawing library says.
pub fn svg(report: &Report) -> Result<String, String> {
    let mut text = String::new();
    draw(&mut text, report).map_err(|e| e.to_string())?;
    Ok(text)
}

fn draw<'a>(text: &'a mut String, report: &Report) -> Outcome<'a> {
    let ratio = |row: &Row| Some((format!("{} {}", row.name, row.layout), row.ratio()?));
    let panels: Vec<(&str, Vec<(String, Summary)>)> = report
        .suites()
        .into_iter()
        .map(|suite| (suite, report.of(suite).filter_map(ratio).collect::<Vec<_>>()))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let height = |rows: usize| HEAD + LINE * rows as i32 + MARGIN;
    let total: i32 = panels.iter().map(|(_, rows)| height(rows.len())).sum();
    let area = SVGBackend::with_string(text, (WIDTH as u32, total.max(HEAD) as u32)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut top = 0;
    for (suite, rows) in &panels {
        panel(&area, top, suite, rows)?;
        top += height(rows.len());
    }
    area.present()
}

/// A logarithmic axis over all that is to be shown, and 1.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(rows: &[(String, Summary)]) -> Axis {
        let low = rows.iter().map(|(_, r)| r.low).fold(0.8, f64::min);
        let high = rows.iter().map(|(_, r)| r.high).fold(1.25, f64::max);
        Axis { low: low / 1.1, high: high * 1.1 }
    }

    fn x(&self, ratio: f64) -> i32 {
        let part = (ratio / self.low).ln() / (self.high / self.low).ln();
        LABELS + (part * f64::from(WIDTH - LABELS - MARGIN)).round() as i32
    }

    /// 1, 2 and 5 times powers of ten within it.
    fn ticks(&self) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(decade)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

fn panel<'a>(area: &Area<'a>, top: i32, suite: &str, rows: &[(String, Summary)]) -> Outcome<'a> {
    let axis = Axis::of(rows);
    let (first, bottom) = (top + HEAD, top + HEAD + LINE * rows.len() as i32);
    let small = ("sans-serif", 11).into_font();
    area.draw(&Text::new(format!("{suite}: time over reference"), (8, top + 6), ("sans-serif", 14)))?;
    for tick in axis.ticks() {
        let x = axis.x(tick);
        let colour = if tick == 1.0 { BLACK.mix(0.8) } else { BLACK.mix(0.2) };
        area.draw(&PathElement::new([(x, first), (x, bottom)], colour))?;
        area.draw(&Text::new(format!("{tick}"), (x - 6, top + 20), small.clone()))?;
    }
    for (index, (label, ratio)) in rows.iter().enumerate() {
        let y = first + LINE * index as i32 + LINE / 2;
        area.draw(&Text::new(label.clone(), (8, y - 6), small.clone()))?;
        area.draw(&PathElement::new(
            [(axis.x(ratio.low), y), (axis.x(ratio.high), y)],
            BLUE.stroke_width(2),
        ))?;
        area.draw(&Circle::new((axis.x(ratio.median), y), 3, BLUE.filled()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{report, row};

    #[test]
    fn each_row_with_a_ratio_has_a_point_and_a_label() {
        let text = svg(&report(vec![row("slow", &[20.0]), row("fast", &[0.1]), row("none", &[-1.0])]));
        let text = text.expect("it can be drawn");
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        assert_eq!(text.matches("<circle").count(), 2, "{text}");
        assert!(text.contains("slow 2x1") && !text.contains("none 2x1"), "{text}");
    }
}
