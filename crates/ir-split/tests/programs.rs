//! The splitter on the programs in `testdata`.
//!
//! A program begins with comments that say how it is placed:
//!
//! ```text
//! // place: R = nic, S = fpga       regions and their devices; what is not named runs at `tor`
//! // call: S                        of these, regions that are called
//! // spares: nic2, nic3             devices that stand in for that of each region, in order
//! // shard: nic2, nic3              devices that divide the flows of each region with its own
//! // replicas: 2                 devices of each shard
//! // group: nic2                    servers of the group of each region with its own
//! // origins: tor, tor2             switches that run the same program
//! // links: tor-nic, nic-fpga       pairs of devices; without it all are joined
//! // frames: 1514, 1514             the longest frame from outside, the longest on each link
//! // order: any                     of packets; or `detours: no`
//! // runtime: headerless, 2         how hand-overs travel; the number of links between each two devices; or `short frames: yes`, `pads: no`
//! // header: fpga                    devices whose hand-overs have a header although those of the runtime have none
//! // show: section, layout          steps whose text is in the file `NAME.steps` beside the program
//! ```
//!
//! In `refused`, comments with carets under a line say what is refused there: `// ^^^ error[P4R0505] title: label`, and
//! `// ^^^ label` for further places. In `split` nothing may be refused, and warnings are said in the same way.
//! `UPDATE_EXPECT=1` writes both.

use base_diag::{Diagnostic, Severity, SourceMap, Span, Style, render};
use ir::{Program, Type, TypeKind};
use ir_split::{DeviceIndex, Order, Placement, Policy, RuntimeName, Site, StepText};
use p4_arch::Texts;
use p4_syntax::Options;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn compile(name: &str, source: &str, map: &mut SourceMap) -> Program {
    let program = ir_elaborate::program(name, &Texts(&[(name, source)]), &Options::default(), map);
    program.unwrap_or_else(|found| {
        let errors = found.iter().filter(|d| d.severity == Severity::Error);
        let errors: String = errors.map(|d| render(d, map, Style::Plain)).collect();
        panic!("{name} does not compile:\n{errors}")
    })
}

/// The value of `// key: value`, as a list.
fn directive(source: &str, key: &str) -> Option<Vec<String>> {
    let mut lines = source.lines().filter_map(|line| line.strip_prefix("// ")?.split_once(": "));
    let (_, value) = lines.find(|(known, _)| *known == key)?;
    Some(value.split(", ").map(str::to_string).collect())
}

fn placement(source: &str) -> Placement {
    let origins = directive(source, "origins").unwrap_or_else(|| vec!["tor".to_string()]);
    let placed: Vec<(String, String)> = directive(source, "place")
        .unwrap_or_default()
        .iter()
        .map(|one| one.split_once(" = ").expect("REGION = DEVICE"))
        .map(|(region, device)| (region.to_string(), device.to_string()))
        .collect();
    let links: Option<Vec<(String, String)>> = directive(source, "links").map(|links| {
        let pair = |link: &String| link.split_once('-').map(|(a, b)| (a.to_string(), b.to_string()));
        links.iter().map(|link| pair(link).expect("DEVICE-DEVICE")).collect()
    });
    let spares = directive(source, "spares").unwrap_or_default();
    let shards = directive(source, "shard").unwrap_or_default();
    let replicas =
        directive(source, "replicas").map_or(1, |all| all[0].parse().expect("a number of devices"));
    let members = directive(source, "group").unwrap_or_default();
    let mut devices = origins.clone();
    let linked = links.iter().flatten().flat_map(|(a, b)| [a, b]);
    for name in
        placed.iter().map(|(_, device)| device).chain(&spares).chain(&shards).chain(&members).chain(linked)
    {
        if !devices.contains(name) {
            devices.push(name.clone());
        }
    }
    let index = |name: &String| {
        DeviceIndex(devices.iter().position(|known| known == name).expect("a device that is placed") as u32)
    };
    let all = (0..devices.len() as u32).map(DeviceIndex);
    let pairs: Vec<(DeviceIndex, DeviceIndex)> = match &links {
        Some(links) => links.iter().map(|(a, b)| (index(a), index(b))).collect(),
        None => all.clone().flat_map(|a| all.clone().map(move |b| (a, b))).filter(|(a, b)| a < b).collect(),
    };
    let both = |&(a, b): &(DeviceIndex, DeviceIndex)| [(a, b), (b, a)];
    let port = |(a, b): (DeviceIndex, DeviceIndex)| ((a, b), u64::from(300 + 10 * a.0 + b.0));
    let frames: Vec<u32> =
        directive(source, "frames").iter().flatten().map(|n| n.parse().expect("bytes")).collect();
    let called = directive(source, "call").unwrap_or_default();
    let whole = Placement::whole(&origins[0]);
    let placed = placed.iter().map(|(region, device)| (region.as_str().into(), index(device)));
    let mut placement = Placement {
        devices: devices.iter().map(|name| name.as_str().into()).collect(),
        ports: pairs.iter().flat_map(both).map(port).collect(),
        order: if directive(source, "order").is_some() { Order::Any } else { Order::Keep },
        detours: directive(source, "detours").is_none(),
        longest_frame: frames.first().copied(),
        longest_on_link: frames
            .get(1)
            .map(|most| pairs.iter().flat_map(both).map(|pair| (pair, *most)).collect())
            .unwrap_or_default(),
        ..whole
    };
    let runtime = directive(source, "runtime").unwrap_or_default();
    placement.runtime = match runtime.first().map(String::as_str) {
        Some("headerless") => RuntimeName::Headerless,
        Some("headerless-ipv4") => RuntimeName::HeaderlessIpv4,
        _ => RuntimeName::Full,
    };
    if let Some(links) = runtime.get(1).map(|links| links.parse::<u64>().expect("a number of links")) {
        let all = |(pair, first): (&(DeviceIndex, DeviceIndex), &u64)| {
            (*pair, (0..links).map(|link| first + 50 * link).collect())
        };
        placement.more_ports = placement.ports.iter().map(all).collect();
    }
    placement.with_header = directive(source, "header").iter().flatten().map(index).collect();
    placement.short_frames = directive(source, "short frames").is_some();
    placement.pads = directive(source, "pads").is_none();
    place(&mut placement, placed.collect(), &called, origins[1..].iter().map(index).collect());
    for site in placement.sites.values_mut().filter(|_| !spares.is_empty()) {
        site.policy = Policy::Failover;
        site.devices.extend(spares.iter().map(index));
    }
    for site in placement.sites.values_mut().filter(|_| !shards.is_empty()) {
        site.policy = Policy::Shard;
        site.devices.extend(shards.iter().map(index));
        site.replicas = replicas;
    }
    for site in placement.sites.values_mut().filter(|_| !members.is_empty()) {
        site.policy = Policy::Group;
        site.devices.extend(members.iter().map(index));
    }
    placement
}

fn place(
    placement: &mut Placement,
    placed: Vec<(ir::Name, DeviceIndex)>,
    called: &[String],
    more_origins: Vec<DeviceIndex>,
) {
    let site = |(region, device): (ir::Name, DeviceIndex)| {
        let policy =
            if called.iter().any(|name| region == name.as_str()) { Policy::Call } else { Policy::Direct };
        (region, Site::new(device, policy))
    };
    placement.sites = placed.into_iter().map(site).collect();
    placement.home.extend(more_origins);
}

/// A comment with carets and what it says.
fn is_caret(line: &str) -> bool {
    line.trim_start().strip_prefix("//").is_some_and(|rest| rest.trim_start().starts_with('^'))
        || line.starts_with("// error[")
        || line.starts_with("// warning[")
}

/// The source without expectations.
fn bare(source: &str) -> String {
    source.lines().filter(|line| !is_caret(line)).flat_map(|line| [line, "\n"]).collect()
}

/// The source with diagnostics as expectations, under their lines; those without a place are at the end.
fn marked(source: &str, found: &[Diagnostic], map: &SourceMap) -> String {
    let mut under: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut behind = vec![];
    for diagnostic in found {
        let kind = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
        let head = format!("{kind}[{}] {}", diagnostic.code, diagnostic.title);
        let mut head = Some(head);
        for label in &diagnostic.labels {
            let says = match head.take() {
                Some(head) => format!("{head}: {}", label.text),
                None => label.text.clone(),
            };
            match place_of(source, label.span, map) {
                Some((line, column, length)) => {
                    // Carets need two columns before them for the comment.
                    let (before, carets) = match column {
                        0 | 1 => ("//".to_string(), length.saturating_sub(2 - column).max(1)),
                        _ => (format!("//{}", " ".repeat(column - 2)), length),
                    };
                    under.entry(line).or_default().push(format!("{before}{} {says}", "^".repeat(carets)));
                }
                None => behind.push(format!("// {says}")),
            }
        }
        behind.extend(head.map(|head| format!("// {head}")));
    }
    let mut out = String::new();
    for (at, line) in source.lines().enumerate() {
        let _ = writeln!(out, "{line}");
        under.get(&at).into_iter().flatten().for_each(|said| {
            let _ = writeln!(out, "{said}");
        });
    }
    behind.iter().for_each(|said| {
        let _ = writeln!(out, "{said}");
    });
    out
}

/// Line, column and columns of the part of a span on its first line; `None` for places outside of the program's text.
fn place_of(source: &str, span: Span, map: &SourceMap) -> Option<(usize, usize, usize)> {
    let text = map.text(span);
    let first = text.lines().next().filter(|line| !line.is_empty())?;
    let place = map.position(span.lo)?;
    let (line, column) = (place.line as usize - 1, place.column as usize - 1);
    source.lines().nth(line)?.get(column..)?.starts_with(first).then_some(())?;
    Some((line, column, first.chars().count()))
}

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
    let entries = std::fs::read_dir(&folder).expect("a folder of programs").flatten().map(|e| e.path());
    let mut found: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "p4")).collect();
    found.sort();
    assert!(!found.is_empty(), "no programs in {}", folder.display());
    found
}

/// Compares a file with its expected content, or writes it.
fn expect_file(path: &Path, now: &str) -> Option<String> {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    if before == now {
        return None;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, now).expect("an expectation can be written");
        return None;
    }
    let place = before.lines().zip(now.lines()).position(|(a, b)| a != b);
    let at = place.unwrap_or(before.lines().count().min(now.lines().count()));
    let line = |text: &str| text.lines().nth(at).unwrap_or("nothing").to_string();
    Some(format!(
        "{}:{}\n    expected: {}\n    found:    {}",
        path.display(),
        at + 1,
        line(&before),
        line(now)
    ))
}

/// The text of a program without what is the same in all: the declarations of v1model and the blocks that do nothing.
fn without_v1model(text: &str) -> String {
    let same = ["arch ", "extern", "@metadata", "control V", "control C", "control D", "stages", "main "];
    let keep = |part: &&str| !same.iter().any(|start| part.starts_with(start));
    let kept: Vec<&str> = text.split("\n\n").filter(keep).collect();
    kept.join("\n\n").trim_end().to_string() + "\n"
}

/// Splits the programs of a folder; returns those that differ from the expectation.
fn differences(folder: &str, is_refused: bool) -> Vec<String> {
    let mut wrong = vec![];
    for path in programs(folder) {
        let text = std::fs::read_to_string(&path).expect("a program");
        let source = bare(&text);
        let mut map = SourceMap::new();
        let program = compile(&path.to_string_lossy(), &source, &mut map);
        let shown = directive(&source, "show").unwrap_or_default();
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let traced = ir_split::trace(&program, &placement(&source), &shown);
        let found = match &traced.outcome {
            Ok(split) => split.warnings.clone(),
            Err(found) => found.clone(),
        };
        if traced.outcome.is_err() != is_refused {
            wrong.push(format!("{}: refused is {}", path.display(), !is_refused));
        }
        wrong.extend(expect_file(&path, &marked(&source, &found, &map)));
        for device in traced.outcome.iter().flat_map(|split| &split.devices).flatten() {
            if let Err(errors) = ir::verify::verify(&device.program) {
                wrong.push(format!("{}: {errors:#?}", path.display()));
            }
        }
        let of_step = |step: &StepText| format!("# after {}\n{}", step.step, without_v1model(&step.text));
        let steps: String = traced.texts.iter().map(of_step).collect();
        if !shown.is_empty() {
            wrong.extend(expect_file(&path.with_extension("steps"), &steps));
        }
    }
    wrong
}

#[test]
fn what_is_refused_is_refused_at_its_place() {
    let wrong = differences("refused", true);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_split_is_cut_as_expected() {
    let wrong = differences("split", false);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A field of whole bytes that begins within a byte is refused by the compiler for Tofino.
#[test]
fn fields_of_whole_bytes_begin_at_a_byte() {
    let (mut mixed, mut wrong) = (0, vec![]);
    for path in programs("split") {
        let source = bare(&std::fs::read_to_string(&path).expect("a program"));
        let program = compile(&path.to_string_lossy(), &source, &mut SourceMap::new());
        let split = ir_split::split(&program, &placement(&source)).expect("it is split");
        let types = split.devices.iter().flatten().flat_map(|device| &device.program.types);
        // The fields of `p4rack_t` itself are those of every program: constants, and bits.
        for ty in types.filter(|ty| ty.name.starts_with("p4rack_") && ty.name != "p4rack_t") {
            let TypeKind::Header(fields) = &ty.kind else { continue };
            let (mut at, mut odd) = (0, 0);
            for field in fields {
                let Type::Bit(bits) = field.ty else { continue };
                if bits % 8 == 0 && at % 8 != 0 {
                    wrong.push(format!("{}: {} of {}", path.display(), field.name, ty.name));
                }
                at += bits;
                odd += usize::from(bits % 8 != 0 && field.name != "padding");
            }
            mixed += usize::from(odd > 0 && odd < fields.len() - 1);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(mixed > 0, "no section has fields of both kinds");
}

/// Every step is shown by some program.
#[test]
fn every_step_has_a_text_that_is_tested() {
    let sources = programs("split").into_iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let shown: Vec<String> =
        sources.flat_map(|source| directive(&source, "show").unwrap_or_default()).collect();
    let missing: Vec<&str> = ir_split::STEPS
        .iter()
        .map(|step| step.name)
        .filter(|name| !shown.iter().any(|s| s == name))
        .collect();
    assert!(missing.is_empty(), "no program shows {missing:?}");
}

/// Every policy of today leads to one device.
#[test]
fn a_region_is_placed_at_one_device() {
    let path = &programs("split")[0];
    let source = bare(&std::fs::read_to_string(path).expect("a program"));
    let program = compile("test.p4", &source, &mut SourceMap::new());
    let mut placement = placement(&source);
    for site in placement.sites.values_mut() {
        site.devices.push(DeviceIndex(0));
    }
    let found = ir_split::split(&program, &placement).expect_err("it is at two devices");
    let titles: Vec<&str> = found.iter().map(|d| d.title.as_str()).collect();
    assert_eq!(titles, ["region `R` is placed at 2 devices"]);
}

/// Devices with spares have one place each.
#[test]
fn devices_and_spares_are_the_same_for_all_regions_on_them() {
    let source = include_str!("../testdata/split/spares.p4");
    let source = bare(source)
        .replace("@region(\"R\") {", "@region(\"Q\") { hdr.h.a = hdr.h.a + 0; }\n@region(\"R\") {");
    let program = compile("test.p4", &source, &mut SourceMap::new());
    let [tor, nic, spare] = [0, 1, 2].map(DeviceIndex);
    let reported = |sites: &[(&str, &[DeviceIndex])]| {
        let site = |(name, devices): &(&str, &[DeviceIndex])| {
            ((*name).into(), Site::at(devices.to_vec(), Policy::Failover))
        };
        let placement = Placement {
            devices: ["tor", "nic", "spare"].map(Into::into).to_vec(),
            sites: sites.iter().map(site).collect(),
            ports: [((tor, nic), 11), ((nic, tor), 21), ((tor, spare), 12), ((spare, tor), 22)].into(),
            ..Placement::whole("tor")
        };
        let found = ir_split::split(&program, &placement).err().unwrap_or_default();
        let line = |d: &base_diag::Diagnostic| format!("{}: {}", d.title, d.notes.join(", "));
        found.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(reported(&[("Q", &[nic, spare]), ("R", &[nic, spare])]), Vec::<String>::new());
    let twice = "`nic` cannot be a device of region `R`: it is named twice";
    assert_eq!(reported(&[("R", &[nic, nic])]), [twice]);
    let origin = "`tor` cannot be a device of region `R`: it is an origin";
    assert_eq!(reported(&[("R", &[nic, tor])]), [origin]);
    let other =
        "cannot be a device of region `R`: other regions have it without the same devices in the same order";
    let both = ["spare", "nic"].map(|name| format!("`{name}` {other}"));
    assert_eq!(reported(&[("Q", &[nic, spare]), ("R", &[spare, nic])]), both);
}

/// Regions on the same devices have the same number of replicas: they move together.
#[test]
fn replicas_are_the_same_for_all_regions_on_the_same_devices() {
    let source = bare(include_str!("../testdata/split/sharded_replicas.p4"))
        .replace("@shard(\"R\", 6) bit<8> shard;", "@shard(\"R\", 6) @shard(\"Q\", 6) bit<8> shard;")
        .replace("@region(\"R\") {", "@region(\"Q\") { hdr.h.a = hdr.h.a + 0; }\n@region(\"R\") {");
    let program = compile("test.p4", &source, &mut SourceMap::new());
    let [tor, nic, other] = [0, 1, 2].map(DeviceIndex);
    let reported = |replicas: [u32; 2]| {
        let site = |replicas| Site { replicas, ..Site::at(vec![nic, other], Policy::Shard) };
        let placement = Placement {
            devices: ["tor", "nic", "other"].map(Into::into).to_vec(),
            sites: [("Q".into(), site(replicas[0])), ("R".into(), site(replicas[1]))].into(),
            ports: [((tor, nic), 11), ((nic, tor), 21), ((tor, other), 12), ((other, tor), 22)].into(),
            ..Placement::whole("tor")
        };
        let found = ir_split::split(&program, &placement).err().unwrap_or_default();
        let line = |d: &base_diag::Diagnostic| format!("{}: {}", d.title, d.notes.join(", "));
        found.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(reported([2, 2]), Vec::<String>::new());
    let number = "cannot be a device of region `R`: other regions have it with another number of replicas";
    assert_eq!(reported([2, 1]), ["nic", "other"].map(|name| format!("`{name}` {number}")));
}
