//! `p4rack traffic`

use app_trials::traffic::{BACKBONE_TRACE, DATA_CENTRE_TRACE, Sizes, Trace, Traffic};
use base_pcap::{Frame, Writer};
use cli::ExitCode;
use cli::output;
use std::fs::File;
use std::io::{BufWriter, Error, Write};
use std::path::{Path, PathBuf};

/// Write a capture of packets of many flows, with Zipf's popularity and the packet sizes of a kind of network
///
/// The flows are random 5-tuples of TCP and UDP over IPv4. The same arguments give the same file.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack traffic --flows 1000000 --skew 0.99 -o traffic.pcap
  p4rack traffic --flows 10000 --packets 50000 --sizes backbone --rate 2000000 -o backbone.pcap
  p4rack traffic --like data-centre --packets 50000 -o data-centre.pcap")]
pub struct Args {
    /// Stand-in for a trace of ExoPlane's, instead of --flows, --skew and --sizes: a backbone with 6 million flows, of which 6 % have 80 % of the packets, or a data centre with 5,160 flows, of which 10 % have as much
    #[arg(long, value_name = "backbone | data-centre", value_parser = like, conflicts_with_all = ["flows", "skew", "sizes"])]
    like: Option<Trace>,
    /// Number of flows
    #[arg(long, default_value = "1000000", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    flows: u32,
    /// Zipf exponent of the flows' popularity, 0 to 4, in thousandths at most
    #[arg(long, default_value = "0.99", value_parser = skew)]
    skew: u32,
    /// Number of packets
    #[arg(long, default_value = "1000000", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    packets: u64,
    /// Bytes of a frame, 60 to 1514, or the mix of a backbone or of a data centre
    #[arg(long, value_name = "BYTES | backbone | data-centre", default_value = "60", value_parser = sizes)]
    sizes: Sizes,
    /// Packets per second: times in the capture
    #[arg(long, default_value = "1000000", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    rate: u64,
    /// Seed of the random numbers
    #[arg(long, default_value = "1")]
    seed: u64,
    /// The file
    #[arg(short, long, value_name = "FILE.pcap")]
    output: PathBuf,
}

fn skew(text: &str) -> Result<u32, String> {
    let skew: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if !(0.0..=4.0).contains(&skew) {
        return Err("it must be 0 to 4".to_string());
    }
    Ok((skew * 1000.0).round() as u32)
}

fn like(text: &str) -> Result<Trace, String> {
    match text {
        "backbone" => Ok(BACKBONE_TRACE),
        "data-centre" => Ok(DATA_CENTRE_TRACE),
        _ => Err("write `backbone` or `data-centre`".to_string()),
    }
}

fn sizes(text: &str) -> Result<Sizes, String> {
    match text {
        "backbone" => Ok(Sizes::Backbone),
        "data-centre" => Ok(Sizes::DataCentre),
        _ => match text.parse() {
            Ok(bytes @ 60..=1514) => Ok(Sizes::Fixed(bytes)),
            _ => Err("write `backbone`, `data-centre`, or a number of bytes, 60 to 1514".to_string()),
        },
    }
}

/// Exit status 1 if the file cannot be written.
pub fn run(args: &Args) -> ExitCode {
    let file = match File::create(&args.output) {
        Ok(file) => file,
        Err(why) => return failed(&args.output, &why),
    };
    match write(args, BufWriter::new(file)) {
        Ok(summary) => {
            output::print(&summary);
            ExitCode::SUCCESS
        }
        Err(why) => failed(&args.output, &why),
    }
}

fn failed(path: &Path, why: &Error) -> ExitCode {
    cli::report!("p4rack: `{}` cannot be written: {why}", path.display());
    ExitCode::FAILURE
}

/// Writes the capture. Returns the packets by the popularity of their flows, for a person.
fn write(args: &Args, to: impl Write) -> Result<String, Error> {
    let Trace { flows, skew, sizes } =
        args.like.unwrap_or(Trace { flows: args.flows, skew: args.skew, sizes: args.sizes });
    let mut traffic = Traffic::new(flows, skew, sizes, args.seed);
    let mut writer = Writer::new(to)?;
    let mut of_flows = vec![0u64; flows as usize];
    for number in 0..args.packets {
        let (rank, frame) = traffic.draw();
        of_flows[rank] += 1;
        let nanos = u128::from(number) * 1_000_000_000 / u128::from(args.rate);
        writer.frame(Frame::whole(nanos as u64, &frame))?;
    }
    writer.flush()?;
    let seen = of_flows.iter().filter(|packets| **packets > 0).count();
    let mut text =
        format!("{}: {} packets of {seen} of {flows} flows\n", args.output.display(), args.packets);
    for top in [10, 100, 1000, 10_000].into_iter().filter(|top| *top < of_flows.len()) {
        let packets: u64 = of_flows[..top].iter().sum();
        text += &format!(
            "  the {top} most popular flows: {:.1} %\n",
            100.0 * packets as f64 / args.packets as f64
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use app_allocation::{Distribution, ONE};
    use base_pcap::Reader;

    fn args(sizes: Sizes) -> Args {
        let output = PathBuf::from("x.pcap");
        Args { like: None, flows: 2000, skew: 990, packets: 20_000, sizes, rate: 500_000, seed: 3, output }
    }

    /// Frames in their order and at their times, as many of the popular flows as Zipf's law says.
    #[test]
    fn a_capture_has_the_popularity_that_was_asked_for() {
        let mut file = vec![];
        let summary = write(&args(Sizes::Backbone), &mut file).unwrap();
        let records: Vec<_> = Reader::new(file.as_slice()).unwrap().map(Result::unwrap).collect();
        assert_eq!(records.len(), 20_000);
        assert!(records.iter().zip(0..).all(|(record, number)| record.nanos == number * 2000));
        let mut flows = std::collections::BTreeMap::new();
        for record in &records {
            // Protocol, addresses and ports.
            *flows.entry((record.frame[23], record.frame[26..38].to_vec())).or_insert(0u64) += 1;
        }
        let mut counts: Vec<u64> = flows.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let law = Distribution::zipf(2000, 990).unwrap();
        for top in [10, 100] {
            let packets: u64 = counts[..top].iter().sum();
            let wanted = law.share(top as u64) as f64 / ONE as f64 * 20_000.0;
            assert!((packets as f64 / wanted - 1.0).abs() < 0.05, "{top}: {packets}, wanted {wanted}");
        }
        let long = records.iter().filter(|record| record.frame.len() == 1514).count();
        assert!((7600..8400).contains(&long), "{long} of 20,000 are as long as can be");
        assert!(
            summary.contains("20000 packets of ") && summary.contains("the 1000 most popular"),
            "{summary}"
        );
        let mut again = vec![];
        write(&args(Sizes::Backbone), &mut again).unwrap();
        assert!(again == file, "the same arguments give the same file");
    }

    /// 516 of 5,160 flows have 80 % of the packets.
    #[test]
    fn a_capture_like_a_data_centres_has_its_skew() {
        let mut args = Args { like: Some(DATA_CENTRE_TRACE), ..args(Sizes::Fixed(60)) };
        args.packets = 40_000;
        let mut file = vec![];
        let summary = write(&args, &mut file).unwrap();
        assert!(summary.contains(" of 5160 flows"), "{summary}");
        let (mut flows, mut longest) = (std::collections::BTreeMap::new(), 0);
        for record in Reader::new(file.as_slice()).unwrap().map(Result::unwrap) {
            longest = longest.max(record.frame.len());
            *flows.entry((record.frame[23], record.frame[26..38].to_vec())).or_insert(0u64) += 1;
        }
        assert_eq!(longest, 1400, "lengths of a data centre");
        let mut counts: Vec<u64> = flows.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let part = counts[..516].iter().sum::<u64>() as f64 / 40_000.0;
        // The flows that are drawn most often are a little above the law.
        assert!((0.79..0.83).contains(&part), "{part}");
    }

    #[test]
    fn arguments_are_checked() {
        assert_eq!((like("backbone"), like("data-centre")), (Ok(BACKBONE_TRACE), Ok(DATA_CENTRE_TRACE)));
        assert!(like("campus").is_err());
        assert_eq!((skew("0.99"), skew("1")), (Ok(990), Ok(1000)));
        assert!(["-1", "5", "x", "NaN"].into_iter().all(|text| skew(text).is_err()));
        assert!(["59", "1515", "wide"].into_iter().all(|text| sizes(text).is_err()));
    }
}
