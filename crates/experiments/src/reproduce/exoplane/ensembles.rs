//! The four ensembles of apps in the emulator, with the flows at the switch that the model plans: Table 3 and the number of cards, a thousand times slower.

use super::gateway::{APPS, BLOCKS, TRAFFIC, failed, gateway, offloaded, solved, throughput};
use crate::bench::Scratch;
use crate::reproduce::{Experiment, Lab, Shown};
use app_allocation::Distribution;
use app_trials::vpn::{Tunnel, outer};
use base_diag::Diagnostic;
use base_pcap::{Frame, Writer};
use base_time::{Duration, Rng, Time, Zipf};
use p4rack::rack::Racked;
use p4rack::up::bring_up;
use rack_emulator::{RunReport, Table};
use std::fmt::Write;
use std::path::Path;

pub const EXPERIMENT: Experiment = Experiment {
    name: "ensembles",
    about: "Line rate of each app and of two to four apps with four cards in the emulator, of all four with two cards, which is enough with the memory of UnivMon's flow manager (T1, T2), and of all four where one of four cards fails, each shard has two, and the others are not overloaded (T4).",
    set: "1 VPN gateway, 2 NAT of virtual machines, 3 access list and 4 UnivMon on one switch, 98.68 Mbit/s each in packets of 1,500 bytes (a thousandth of the paper's rates), 4,000 flows by Zipf's law with 1; a card takes 39.47 Mbit/s. \
          The most popular flows are at the switch, as many as have the share that the model's plan gives the app. A run of 2 s, of which the second half is measured. \
          A card that fails does so after 0.2 s of it; the switch asks the cards for a report every 50 ms, which is 50 us at the paper's rates.",
    leaves_out: "the paper's programs: all entries of the VPN gateway's tunnels are there from the beginning, and machines have public addresses of their own, because no controller writes entries of new flows here (`app-trials` has the controllers).",
    run,
};

/// Flows of an app.
const FLOWS: u64 = 4000;
/// When packets come: flows have moved by then.
const STARTS: Duration = Duration::from_ms(500);
/// Program and affinity of each app, by its port.
const PROGRAMS: [(&str, &str); 4] =
    [("vpn", "medium"), ("vm-nat", "medium"), ("acl", "medium"), ("univmon", "high")];

/// A run.
#[derive(Clone, Copy)]
struct Case {
    /// Numbers of the apps, from 1 on.
    apps: &'static [usize],
    cards: u64,
    /// SRAM blocks for flow managers.
    blocks: u64,
    /// Each shard has two cards, and the first card fails before the part of the run that is measured.
    fails: bool,
    paper: &'static str,
}

/// SRAM blocks of the flow managers of the apps that need one.
const OWN: u64 = BLOCKS * APPS.len() as u64;

const CASES: [Case; 11] = [
    Case { apps: &[1], cards: 4, blocks: BLOCKS, fails: false, paper: "98.6" },
    Case { apps: &[2], cards: 4, blocks: BLOCKS, fails: false, paper: "" },
    Case { apps: &[3], cards: 4, blocks: BLOCKS, fails: false, paper: "" },
    Case { apps: &[4], cards: 4, blocks: 0, fails: false, paper: "" },
    Case { apps: &[1, 2], cards: 4, blocks: 2 * BLOCKS, fails: false, paper: "197.2" },
    Case { apps: &[1, 2, 3], cards: 4, blocks: OWN, fails: false, paper: "295.6" },
    Case { apps: &[1, 2, 3, 4], cards: 4, blocks: OWN, fails: false, paper: "394.1" },
    Case { apps: &[1, 2, 3, 4], cards: 2, blocks: OWN + BLOCKS, fails: false, paper: "" },
    Case { apps: &[1, 2, 3, 4], cards: 2, blocks: OWN, fails: false, paper: "" },
    Case { apps: &[1, 2, 3, 4], cards: 1, blocks: OWN, fails: false, paper: "about 352 (fig10)" },
    Case { apps: &[1, 2, 3, 4], cards: 4, blocks: OWN, fails: true, paper: "" },
];

/// Flows at the switch of each app, and what the model says of the rates, in Gbit/s.
struct Planned {
    resident: Vec<u64>,
    total: f64,
    away: f64,
}

fn planned(case: Case) -> Result<Planned, Vec<Diagnostic>> {
    let mut problem = gateway(PROGRAMS.len(), case.cards, u64::from(case.fails), case.blocks)?;
    let all = problem.apps.len() as u64;
    problem.traffic = problem.traffic.map(|traffic| traffic / all * case.apps.len() as u64);
    problem.apps = case.apps.iter().map(|app| problem.apps[app - 1].clone()).collect();
    let found = solved(&problem)?;
    let flows = Distribution::zipf(FLOWS, 1000).map_err(|why| failed(&why.to_string()))?;
    let resident = |(app, share): (&usize, u64)| if *app > APPS.len() { 0 } else { flows.flows_with(share) };
    Ok(Planned {
        resident: case.apps.iter().zip(found.apps.iter().map(|app| app.share)).map(resident).collect(),
        total: throughput(&problem, &found).iter().sum(),
        away: offloaded(&found),
    })
}

/// The peer of a tunnel.
fn peer(rank: u32) -> u32 {
    0xcb00_7100 + rank
}

/// The gateway's address, and the number of all tunnels at their peers.
const GATEWAY: u32 = 0xc000_0201;
const KEY: u32 = 7;

fn address(number: u32) -> String {
    std::net::Ipv4Addr::from(number).to_string()
}

/// Packets of the gateway's tunnels by the ranks of their flows, at the rate of the other apps: a tunnel is no flow of a host.
fn tunnels(count: u64) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let wrong = |why: std::io::Error| failed(&why.to_string());
    let (zipf, mut rng) = (Zipf::new(FLOWS as u32, 1000), Rng::new(1).split("ensembles"));
    let mut writer = Writer::new(vec![]).map_err(wrong)?;
    for number in 0..count {
        let tunnel = Tunnel { outside: (peer(zipf.draw(&mut rng) as u32), GATEWAY, KEY), inside: (0, 0, 0) };
        let frame = outer(&tunnel, &[0; SIZE as usize]);
        // 11,664 bits at 95.917 Mbit/s.
        writer.frame(Frame::whole(number * 121_605, &frame)).map_err(wrong)?;
    }
    Ok(writer.into_inner())
}

/// Entries of an app: its tunnels or its side, and the way to its receiver.
fn entries(app: usize) -> String {
    let tunnel = |rank| {
        let (peer, gateway) = (address(peer(rank)), address(GATEWAY));
        format!(
            "[[table.tunnels]]\nkey = [47, \"{peer}\", \"{gateway}\", {KEY}]\naction = \"inward\"\n\
             args = [1, \"10.1.0.9\", \"198.51.1.1\", {rank}, 5000, 2000]\n"
        )
    };
    let own = match app {
        1 => (0..FLOWS as u32).map(tunnel).collect(),
        2 => "[[table.sides]]\nkey = [2]\naction = \"is_inside\"\n[[table.own_outbound]]\nkey = [\"10.2.0.1\"]\naction = \"source_address\"\nargs = [\"192.0.2.2\"]\n".to_string(),
        3 => "[[table.tenants]]\nkey = [\"198.51.3.0/24\"]\naction = \"tenant_is\"\nargs = { tenant = 3, deny = 0 }\n".to_string(),
        _ => String::new(),
    };
    format!(
        "{own}[[table.routes]]\nkey = [\"198.51.{app}.0/24\"]\naction = \"forward\"\n\
         args = {{ port = {}, src = \"02:00:00:00:01:0{app}\", dst = \"02:00:00:00:03:0{app}\" }}\n",
        10 + app
    )
}

/// The rack's file. Sources are at ports 1 to 4, receivers at 11 to 14, cards at 21 and so on.
fn text(case: Case, resident: &[u64], run: Duration, programs: &Path) -> String {
    let mut text = "[rack]\nname = \"ensembles\"\nseed = 1\n[control]\ndelay = \"20us\"\n\
                    [device.edge]\nclass = \"switch\"\nservice = \"800ns\"\nparallel = 64\n"
        .to_string();
    // 12,000 bits at 39.47 Mbit/s.
    for card in 1..=case.cards {
        let _ = write!(
            text,
            "[device.card{card}]\nclass = \"smartnic\"\nservice = \"304030ns\"\nparallel = 1\nbacklog = 64\n\
             [[link]]\nends = [\"card{card}:1\", \"edge:{}\"]\nrate = \"10Gbit/s\"\ndelay = \"500ns\"\nmtu = 2200\n",
            20 + card
        );
    }
    if case.fails {
        let at = STARTS + Duration::from_ps(run.as_ps() / 10);
        let _ = write!(text, "[[fault]]\nkind = \"device-down\"\ndevice = \"card1\"\nat = \"{at}\"\n");
    }
    let cards: Vec<String> = (1..=case.cards).map(|card| format!("\"card{card}\"")).collect();
    let cards = cards.join(", ");
    for (app, flows) in case.apps.iter().copied().zip(resident) {
        let (program, affinity) = PROGRAMS[app - 1];
        for (host, kind, ip, port) in
            [("s", 2, format!("10.{app}.0.1"), app), ("r", 3, format!("198.51.{app}.1"), 10 + app)]
        {
            let _ = write!(
                text,
                "[host.{host}{app}]\nmac = \"02:00:00:00:0{kind}:0{app}\"\nip = \"{ip}/24\"\ngateway = \"02:00:00:00:01:0{app}\"\n\
                 [[link]]\nends = [\"{host}{app}\", \"edge:{port}\"]\nrate = \"1Gbit/s\"\ndelay = \"1us\"\nmtu = 2000\n"
            );
        }
        let _ = write!(
            text,
            "[[app]]\nprogram = \"{}\"\nentries = \"{program}.toml\"\norigin = \"edge\"\naffinity = \"{affinity}\"\norder = \"any\"\n",
            programs.join(format!("{program}.p4")).display()
        );
        if case.apps.len() > 1 {
            let _ = writeln!(text, "class = \"port == {app}\"");
        }
        let shards = match program {
            "vpn" => "",
            _ => {
                "shard_key = [[\"hdr.ipv4.src\", \"hdr.ipv4.dst\"], [\"hdr.udp.src\", \"hdr.udp.dst\"], [\"hdr.tcp.src\", \"hdr.tcp.dst\"]]\n"
            }
        };
        if affinity == "medium" {
            let _ = writeln!(text, "devices = [{cards}]\nflows = {flows}\n{shards}");
            if case.fails {
                text += "replicas = 2\nlong_frames = \"drop\"\nfailover = { tick = \"10ms\", ask_after = \"50ms\", patience = \"50ms\" }\n";
            }
            text += "[app.objects]\nroutes = { resident = \"all\" }\n";
        }
        let _ = write!(
            text,
            "[[workload]]\nname = \"w{app}\"\nfrom = \"s{app}\"\nto = \"r{app}\"\nstart = \"{STARTS}\"\n"
        );
        let _ = match program {
            "vpn" => writeln!(text, "kind = \"pcap\"\nfile = \"tunnels.pcap\""),
            _ => writeln!(
                text,
                "kind = \"zipf\"\nflows = {FLOWS}\ncount = {}\nrate = \"95917kbit/s\"\nsize = {SIZE}\nport = 5000",
                packets(run)
            ),
        };
        for rank in 0..*flows as u32 {
            let _ = write!(
                text,
                "[[move]]\napp = \"{program}\"\nat = \"0s\"\nto = \"switch\"\n[move.flow]\n{}",
                key(app, rank)
            );
        }
    }
    text
}

/// Bytes of payload: a frame has 1,500, or those of a tunnel.
const SIZE: u64 = 1458;

/// Packets of an app in a run, and a few more.
fn packets(run: Duration) -> u64 {
    8223 * (run.as_ps() / 1_000_000_000 + 500) / 1000
}

/// The flow of an app with this rank.
fn key(app: usize, rank: u32) -> String {
    let (program, _) = PROGRAMS[app - 1];
    if program == "vpn" {
        let (peer, gateway) = (address(peer(rank)), address(GATEWAY));
        return format!(
            "\"hdr.ipv4.src\" = \"{peer}\"\n\"hdr.ipv4.dst\" = \"{gateway}\"\n\"hdr.ipv4.protocol\" = 47\n\
             \"hdr.gre.key\" = {KEY}\n\"hdr.vxlan.vni\" = 0\n"
        );
    }
    let udp = format!(
        "\"hdr.ipv4.src\" = \"10.{app}.0.1\"\n\"hdr.ipv4.dst\" = \"198.51.{app}.1\"\n\"hdr.ipv4.protocol\" = 17\n\
         \"hdr.udp.src\" = {}\n\"hdr.udp.dst\" = 5000\n\"hdr.tcp.src\" = 0\n\"hdr.tcp.dst\" = 0\n",
        4096 + rank
    );
    // The access list does not look at the port that a packet comes by.
    match program {
        "acl" => udp,
        _ => format!("{udp}\"standard_metadata.ingress_port\" = {app}\n"),
    }
}

fn rack(lab: &mut Lab<'_>, case: Case, resident: &[u64], run: Duration) -> Result<Racked, Vec<Diagnostic>> {
    let wrong = |why: String| failed(&why);
    let programs = std::path::absolute(lab.racks.join("../apps")).map_err(|why| failed(&why.to_string()))?;
    let scratch = Scratch::new().map_err(wrong)?;
    for (app, (program, _)) in (1..).zip(PROGRAMS) {
        scratch.write(&format!("{program}.toml"), entries(app).as_bytes()).map_err(wrong)?;
    }
    scratch.write("tunnels.pcap", &tunnels(packets(run))?).map_err(wrong)?;
    scratch.write("RACK.toml", text(case, resident, run, &programs).as_bytes()).map_err(wrong)?;
    let mut own = Lab {
        racks: scratch.path().to_path_buf(),
        full_rate: false,
        until: None,
        map: &mut *lab.map,
        show_progress: &mut *lab.show_progress,
        codes: lab.codes.clone(),
    };
    own.rack("RACK.toml")
}

/// Frames that hosts have sent, that have come to cards, and that have come to receivers.
#[derive(Clone, Copy, Debug)]
struct Frames {
    sent: u64,
    away: u64,
    received: u64,
}

impl Frames {
    fn of(report: &RunReport) -> Frames {
        let node = |end: &str, first: &str| {
            let name = end.split(':').next().unwrap_or(end);
            let number = name.strip_prefix(first).unwrap_or_default();
            !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit())
        };
        let sum = |is_it: &dyn Fn(&str, &str) -> bool| {
            report
                .links
                .iter()
                .filter(|link| is_it(&link.from, &link.to))
                .map(|link| link.frames)
                .sum::<u64>()
        };
        Frames {
            sent: sum(&|from, _| node(from, "s")),
            away: sum(&|_, to| node(to, "card")),
            received: sum(&|_, to| node(to, "r")),
        }
    }

    /// Gbit/s of the paper of so many of the frames that `apps` have sent.
    fn rate(self, frames: u64, apps: usize) -> f64 {
        TRAFFIC * apps as f64 * frames as f64 / self.sent.max(1) as f64
    }
}

/// Gbit/s to receivers and to cards in the second half of a run.
fn measured(
    lab: &mut Lab<'_>,
    case: Case,
    resident: &[u64],
    run: Duration,
) -> Result<(f64, f64), Vec<Diagnostic>> {
    (lab.show_progress)(&format!("apps {}, cards {}", names(case), cards(case)));
    let racked = rack(lab, case, resident, run)?;
    let mut running = bring_up(&racked)?;
    let mut at = |after: Duration| {
        running.run_until(Time::ZERO + STARTS + after).map_err(|why| failed(&why.to_string()))?;
        Ok::<_, Vec<Diagnostic>>(Frames::of(&running.emulator.report()))
    };
    let (half, end) = (at(Duration::from_ps(run.as_ps() / 2))?, at(run)?);
    let frames = Frames {
        sent: end.sent - half.sent,
        away: end.away - half.away,
        received: end.received - half.received,
    };
    Ok((frames.rate(frames.received, case.apps.len()), frames.rate(frames.away, case.apps.len())))
}

fn names(case: Case) -> String {
    let numbers: Vec<String> = case.apps.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

fn cards(case: Case) -> String {
    if case.fails { format!("{}, one fails", case.cards) } else { case.cards.to_string() }
}

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for case in CASES {
        let plan = planned(case)?;
        let (total, away) = measured(lab, case, &plan.resident, Duration::from_ms(2000))?;
        let line = TRAFFIC * case.apps.len() as f64;
        let share = |part: f64| format!("{:.2} %", 100.0 * part / line);
        rows.push([
            names(case),
            cards(case),
            case.blocks.to_string(),
            share(line - plan.away),
            // Frames to cards are not packets only where each shard has two cards: some ask for reports.
            if case.fails { String::new() } else { share(line - away) },
            format!("{:.1}", plan.total),
            format!("{total:.1}"),
            share(total),
            case.paper.to_string(),
        ]);
    }
    let titles = [
        "<apps",
        "cards",
        "SRAM blocks",
        "at the switch, model",
        "emulated",
        "total, model",
        "emulated, Gbit/s",
        "of line rate",
        "paper, Gbit/s",
    ];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cards are enough with the memory of UnivMon's flow manager, and one is not: both as the model says.
    #[test]
    fn two_cards_have_line_rate_and_one_has_what_the_model_says() {
        let mut lab = Lab::of_examples("pinned");
        for (case, is_line_rate) in [(CASES[7], true), (CASES[9], false)] {
            let plan = planned(case).unwrap();
            let (total, away) = measured(
                &mut lab,
                case,
                &plan.resident,
                Duration::from_ms(if features::is_long() { 400 } else { 200 }),
            )
            .unwrap();
            let line = TRAFFIC * 4.0;
            assert_eq!(plan.total > line * 0.999, is_line_rate, "the model: {}", plan.total);
            assert!((away / plan.away - 1.0).abs() < 0.05, "to cards: {away}, predicted {}", plan.away);
            assert!((total / plan.total - 1.0).abs() < 0.02, "{total}, predicted {}", plan.total);
        }
    }

    /// The others have room for what the failed card had.
    #[test]
    fn one_of_four_cards_fails_and_line_rate_stays() {
        let mut lab = Lab::of_examples("pinned");
        let case = CASES[10];
        let plan = planned(case).unwrap();
        let (total, _) = measured(&mut lab, case, &plan.resident, Duration::from_ms(500)).unwrap();
        let line = TRAFFIC * 4.0;
        assert!(total > line * 0.999, "{total} of {line}");
    }

    #[test]
    fn more_memory_keeps_more_flows_at_the_switch() {
        let [more, less] = [CASES[7], CASES[8]].map(|case| planned(case).unwrap());
        let grow = more.resident.iter().zip(&less.resident).filter(|(more, less)| more > less);
        assert_eq!(grow.count(), APPS.len(), "{:?}, {:?}", more.resident, less.resident);
        assert!(more.away < less.away && more.total > less.total);
    }
}
