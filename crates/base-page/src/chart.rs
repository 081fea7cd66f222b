//! Charts of lines, as SVG.

use crate::markup::{self, escape};
use std::fmt::Write;

const RIGHT: f64 = 20.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 36.0;

/// Colours of lines, one after the other.
const COLOURS: [&str; 8] =
    ["#1f6fb2", "#d1641d", "#2e8b43", "#b8323b", "#7a57a8", "#7f5a4c", "#c25fa4", "#5f6b73"];

/// The style that charts need, beside that of pages.
pub const STYLE: &str = ".chart .axis { stroke: var(--edge); } .chart .grid { stroke: var(--grid); } \
.chart .line { fill: none; stroke-width: 2; } .chart .span { fill: #d9534f; fill-opacity: 0.18; } .chart .title { font-weight: bold; } ";

/// An axis.
pub struct Axis {
    /// From the least to the greatest value; of a logarithmic axis both are above zero.
    pub range: (f64, f64),
    /// Equal distances are equal ratios.
    pub logarithmic: bool,
    /// A value in words.
    pub words: fn(u64) -> String,
}

/// A line.
pub struct Line {
    /// Label, also used by the page's script.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

/// A chart.
pub struct Chart {
    /// Above it.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From the bottom up.
    pub y: Axis,
    /// Each in a colour of its own, in this order.
    pub lines: Vec<Line>,
    /// Parts of the horizontal axis that stand out, with names.
    pub spans: Vec<(f64, f64, String)>,
    /// Width and height.
    pub size: (f64, f64),
    /// Room for what is written beside the vertical axis.
    pub left: f64,
}

/// The colour of the n-th line.
pub fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

impl Axis {
    /// Position of `value` on the axis, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let (least, most) = self.range;
        let share = match self.logarithmic {
            true => (value.max(least) / least).ln() / (most / least).ln(),
            false => (value - least) / (most - least),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }
    }

    /// Values to write beside the axis: of 1, 2 and 5 and of powers of ten, about five of them.
    fn ticks(&self) -> Vec<f64> {
        let (least, most) = self.range;
        if self.logarithmic {
            let decades = (most / least).log10();
            let steps: &[f64] = if decades > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let first = least.log10().floor() as i32;
            let powers = (first..first + 40).map(|power| 10f64.powi(power));
            let all = powers.flat_map(|power| steps.iter().map(move |step| step * power));
            let ticks: Vec<f64> =
                all.skip_while(|v| *v < least * 0.999).take_while(|v| *v <= most * 1.001).collect();
            // Of a short axis as if it were linear.
            if ticks.len() >= 3 {
                return ticks;
            }
        }
        let rough = (most - least) / 5.0;
        if !rough.is_finite() || rough <= 0.0 {
            return vec![least];
        }
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let first = (least / step).ceil();
        (0..8).map(|n| (first + f64::from(n)) * step).take_while(|v| *v <= most * 1.001).collect()
    }

    /// The values with what is written there; none twice.
    fn labels(&self) -> Vec<(f64, String)> {
        let mut labels: Vec<(f64, String)> =
            self.ticks().into_iter().map(|tick| (tick, self.label(tick))).collect();
        labels.dedup_by(|later, earlier| later.1 == earlier.1);
        labels
    }

    fn label(&self, value: f64) -> String {
        escape(&(self.words)(value.max(0.0).round() as u64))
    }
}

impl Chart {
    /// The chart as an SVG element.
    pub fn svg(&self) -> String {
        let ((width, height), left) = (self.size, self.left);
        let x = |value: f64| left + self.x.place(value) * (width - left - RIGHT);
        let y = |value: f64| height - BOTTOM - self.y.place(value) * (height - TOP - BOTTOM);
        let (top, bottom, right) = (TOP, height - BOTTOM, width - RIGHT);
        let mut out = format!(
            "<svg class=\"chart\" {}>\n<text class=\"title\" x=\"{left}\" y=\"14\">{}</text>\n",
            markup::size(width, height),
            escape(&self.title)
        );
        for (from, to, name) in &self.spans {
            let (from, wide) = (x(*from), (x(*to) - x(*from)).max(1.0));
            let _ = writeln!(
                out,
                "<rect class=\"span\" x=\"{from:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                bottom - top,
                escape(name)
            );
        }
        for (tick, label) in self.y.labels() {
            let at = y(tick);
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/><text text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
                left - 6.0,
                at + 4.0,
                label
            );
        }
        for (tick, label) in self.x.labels() {
            let at = x(tick);
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{bottom}\"/><text text-anchor=\"middle\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 16.0,
                label
            );
        }
        let _ = writeln!(out, "<path class=\"axis\" fill=\"none\" d=\"M{left},{top} V{bottom} H{right}\"/>");
        for (number, line) in self.lines.iter().enumerate() {
            let points = line.points.iter().map(|(h, v)| format!("{:.1},{:.1}", x(*h), y(*v)));
            let _ = writeln!(
                out,
                "<polyline class=\"line\" data-name=\"{0}\" stroke=\"{1}\" points=\"{2}\"><title>{0}</title></polyline>",
                escape(&line.name),
                colour(number),
                points.collect::<Vec<_>>().join(" ")
            );
        }
        out.push_str("</svg>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(least: f64, most: f64, logarithmic: bool) -> Vec<u64> {
        let axis = Axis { range: (least, most), logarithmic, words: |n| n.to_string() };
        axis.ticks().into_iter().map(|tick| tick.round() as u64).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(ticks(0.0, 1000.0, false), [0, 200, 400, 600, 800, 1000]);
        assert_eq!(ticks(130.0, 160.0, false), [130, 140, 150, 160]);
        assert_eq!(ticks(7.0, 7.0, false), [7]);
        assert_eq!(ticks(3.0, 70.0, true), [5, 10, 20, 50]);
        // An axis that has one tick, or none, by powers of ten.
        assert_eq!(ticks(21.0, 49.0, true), [30, 40]);
        assert_eq!(
            ticks(1_000_000.0, 1_400_000.0, true),
            [1_000_000, 1_100_000, 1_200_000, 1_300_000, 1_400_000]
        );
        let axis = Axis { range: (0.0, 2.0), logarithmic: false, words: |n| n.to_string() };
        assert_eq!(axis.labels().into_iter().map(|(_, label)| label).collect::<Vec<_>>(), ["0", "1", "2"]);
        assert_eq!(ticks(1.0, 1e6, true), [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]);
        assert_eq!(ticks(2.0, 1e19, true).len(), 19);
    }

    #[test]
    fn lines_stay_inside() {
        let axis = |logarithmic| Axis { range: (1.0, 100.0), logarithmic, words: |n| n.to_string() };
        for logarithmic in [false, true] {
            let places = [0.0, 1.0, 10.0, 100.0, 1e9, f64::NAN].map(|v| axis(logarithmic).place(v));
            assert!(places.iter().all(|p| (0.0..=1.0).contains(p)), "{places:?}");
            assert!(places[1] == 0.0 && places[3] == 1.0 && places[2] < 0.6);
        }
    }
}
