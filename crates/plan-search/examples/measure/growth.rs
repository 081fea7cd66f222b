//! Growth of the time with the problem: medians and the slowest of five problems of each size, as text and as a picture.

use crate::{drawn, fabric, ms, timed};
use plan_search::Problem;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
const SEEDS: std::ops::RangeInclusive<u64> = 101..=105;

/// A row of sizes, with the median and the slowest of each.
struct Growth {
    what: &'static str,
    sizes: Vec<usize>,
    times: Vec<[Duration; 2]>,
}

pub fn run(picture: Option<&str>) -> ExitCode {
    let random =
        measure("regions on 64 devices at one switch", &[10, 20, 30, 40, 50, 60], &|seed, regions| {
            drawn::problem(seed, regions, 1, 100)
        });
    let fabric =
        measure("programs of four regions on a fat tree", &[2, 4, 6, 8, 10, 12, 14], &|seed, programs| {
            fabric::problem(seed, programs, 12, 10)
        });
    let Some(file) = picture else { return ExitCode::SUCCESS };
    match std::fs::write(file, drawing(&[random, fabric])) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{file}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(what: &'static str, sizes: &[usize], problem: &dyn Fn(u64, usize) -> Problem) -> Growth {
    println!("{what}: median and slowest of five");
    let mut times = vec![];
    for size in sizes {
        let mut of: Vec<Duration> = SEEDS.map(|seed| timed(&problem(seed, *size), LIMIT).1).collect();
        of.sort_unstable();
        println!("{size:>4} {:>12} {:>12}", ms(of[2]), ms(of[4]));
        times.push([of[2], of[4]]);
    }
    Growth { what, sizes: sizes.to_vec(), times }
}

/// Side by side, with time on a logarithmic axis from a millisecond to twenty seconds.
fn drawing(all: &[Growth]) -> String {
    const WIDE: f64 = 360.0;
    const HIGH: f64 = 200.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} 270\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        all.len() as f64 * (WIDE + 80.0)
    );
    let height = |time: Duration| {
        let decades = (time.as_secs_f64().max(0.001) / 0.001).log10();
        20.0 + HIGH * (1.0 - decades / 20_000f64.log10())
    };
    for (at, growth) in all.iter().enumerate() {
        let left = 60.0 + at as f64 * (WIDE + 80.0);
        for (label, millis) in [("1 ms", 1), ("10 ms", 10), ("100 ms", 100), ("1 s", 1000), ("10 s", 10_000)]
        {
            let y = height(Duration::from_millis(millis));
            let _ = writeln!(
                svg,
                "<path d=\"M{left} {y:.1}h{WIDE}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        let last = growth.sizes.last().copied().unwrap_or(1) as f64;
        let place = |size: usize| left + WIDE * size as f64 / last;
        for size in &growth.sizes {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"238\" text-anchor=\"middle\">{size}</text>",
                place(*size)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"258\" text-anchor=\"middle\">{}</text>",
            left + WIDE / 2.0,
            growth.what
        );
        for (which, colour) in [(0, "#1f6fb2"), (1, "#d1641d")] {
            let point = |(size, times): (&usize, &[Duration; 2])| {
                format!("{:.1},{:.1}", place(*size), height(times[which]))
            };
            let points: Vec<String> = growth.sizes.iter().zip(&growth.times).map(point).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                points.join(" ")
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{0}\" y=\"34\" fill=\"#1f6fb2\">median of five</text><text x=\"{0}\" y=\"50\" fill=\"#d1641d\">slowest of five</text>",
            left + 10.0
        );
    }
    svg + "</svg>\n"
}
