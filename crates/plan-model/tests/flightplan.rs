//! Files in the formats of Flightplan's planner, and errors for mistakes.

use expect_test::{Expect, expect};
use plan_model::flightplan::{
    Config, read_config, read_devices, read_network, read_performance_csv, read_performance_json,
    read_program,
};
use plan_model::{print_rule, print_rules};

const CONFIG: &str = r#"{
  "Initial State": {
    "Data::Bound::InputRate": "2000000000.0",
    "Data::Bound::Latency": "0.0",
    "Data::Bound::FPGA1_Area_LUTs": "0"
  },
  "AllocatableFPGA": { "card": { "LUTs": "Data::Bound::FPGA1_Area_LUTs" } },
  "Units": { "Data::Bound::InputRate": "bits per second", "Data::Bound::Latency": "seconds",
             "Data::Bound::Power": "Watts", "Data::Bound::FPGA1_Area_LUTs": "%" },
  "Supporting Device Classes": ["Data::Prop::FPGA", "Data::Prop::PSwitch"],
  "excluded_ports": ["0"],
  "single_allocation": true,
  "Order": [ {"Data::Bound::Latency": "min"}, {"Data::Bound::Power": "min"} ]
}"#;

const DEVICES: &str = r#"[
  { "node": "tor", "provides": {"props": ["Data::Prop::PSwitch"]}, "requires": {"bounds": []}, "ports": [
    { "port": "0", "requires": {"props": [], "bounds": []} },
    { "port": "1", "requires": {"props": [], "bounds": [{"lt": ["Data::Bound::InputRate", "1e10"]}]} } ] },
  { "node": "card", "provides": {"props": ["Data::Prop::FPGA"]}, "ports": [ { "port": "1" } ] },
  { "node": "host", "provides": {"props": ["Data::Prop::Host"]}, "ports": [ { "port": "1" } ] }
]"#;

fn config() -> Config {
    read_config(CONFIG, 1).unwrap()
}

#[test]
fn variables_come_from_the_configuration() {
    let config = config();
    expect![[r#"
        path InputRate [bit/s] is rate = 2Gbit/s;
        path Latency [s] is latency = 0s;
        path Hops [] is hops = 0;
        path HandoverBits [bit] is bits = 0bit;
        once Power [W];
        once Cost [];
        device LUTs [%] <= 100%;
    "#]]
    .assert_eq(&print_rules(&config.signature, &[]));
    assert_eq!(config.objectives, ["Latency", "Power"]);
    assert!(config.single_allocation);
}

#[test]
fn devices_and_links_are_read() {
    let config = config();
    let devices = read_devices(DEVICES, 1, &config).unwrap();
    let facts: Vec<_> = devices.iter().map(|d| (d.name.as_str(), d.forwards, d.is_host)).collect();
    assert_eq!(facts, [("tor", true, true), ("card", false, true), ("host", false, false)]);
    let range = devices[0].ports[1].bounds[0].range();
    assert_eq!(range, (i64::MIN, 10_000_000_000_000 - 1), "less than is at most one step less");
    let network = r#"[
      { "node": "tor", "port": "1", "linked": {"node": "card", "port": "1"} },
      { "node": "tor", "port": "0", "linked": {"node": "host", "port": "1"} } ]"#;
    let links = read_network(network, 1, &config, &devices).unwrap();
    assert_eq!(links.iter().map(|l| l.ends).collect::<Vec<_>>(), [[(0, 1), (1, 0)]], "port 0 is excluded");
}

#[test]
fn the_table_and_json_give_rules() {
    let config = config();
    let table = "name,props (singular),bounds:ltData::Bound::InputRate,g:aP:Data::Bound::Latency,\
                 g:aM:Data::Bound::InputRate,g:aF:LUTs,g:aO:Data::Bound::Power,conclusion\n\n# a comment\n\
                 card cache,Data::Prop::FPGA,1e9,0.00000474,1.5,24.4,30,cache\n\
                 tor drop,Data::Prop::PSwitch,100000000000,0,1.0,,110,drop\n";
    let rules = read_performance_csv(table, 1, &config.signature).unwrap();
    let shown: Vec<String> = rules.iter().map(|r| print_rule(&config.signature, r)).collect();
    expect![[r#"
        rule "card cache" cache if FPGA, InputRate < 1Gbit/s then Latency += 4.74us, InputRate *= 1.5, <LUTs> += 24.4%, once Power += 30W;
        rule "tor drop" drop if PSwitch, InputRate < 100Gbit/s then Latency += 0s, InputRate *= 1, once Power += 110W;"#]].assert_eq(&shown.join("\n"));
    let json = r#"[{ "name": "card cache", "props": ["Data::Prop::FPGA"], "conclusion": "cache",
      "bounds": [{"lt": ["Data::Bound::FPGA1_Area_LUTs", "100"]}, {"lt": ["Data::Bound::InputRate", "1e9"]}],
      "g": [{"aP": ["Data::Bound::Latency", "0.00000474"]}, {"aM": ["Data::Bound::InputRate", "1.5"]},
            {"aO": ["Data::Bound::Power", "30"]}] }]"#;
    let rules = read_performance_json(json, 1, &config.signature).unwrap();
    expect![[r#"rule "card cache" cache if FPGA, InputRate < 1Gbit/s then Latency += 4.74us, InputRate *= 1.5, once Power += 30W;"#]].assert_eq(&print_rule(&config.signature, &rules[0]));
}

#[test]
fn a_program_is_read() {
    let text = r#"{ "Abstract program": [
        {"0.Start": []},
        {"1.Cache": [{"Index": 0, "Props": ["cache", "drop"]}, {"Index": 1, "Props": ["cache"]}]} ],
      "FlightStartAliases": ["0.Start"], "CFG": [{"0.Start": "1.Cache"}],
      "Hand-over Overheads": {"1.Cache": {"meta.port": 9, "run": 1}} }"#;
    let app = read_program(text, 1, "p", 7).unwrap();
    assert_eq!(app.regions[0].on, [7]);
    assert_eq!(app.regions[1].paths, [vec!["cache", "drop"], vec!["cache"]]);
    assert_eq!((app.edges[0].from, app.edges[0].to, app.edges[0].bits), (0, 1, 10));
}

fn said(diagnostic: base_diag::Diagnostic, expected: Expect) {
    let base_diag::Diagnostic { code, title, notes, help, .. } = diagnostic;
    expected.assert_eq(&format!("{code}: {title} {} {}", notes.join("; "), help.join(" ")));
}

#[test]
fn mistakes_have_a_place() {
    let config = config();
    let devices = read_devices(DEVICES, 1, &config).unwrap();
    let wrong = |text: &str| read_network(text, 1, &config, &devices).unwrap_err();
    said(
        wrong(r#"[{ "node": "tro", "port": "1", "linked": {"node": "card", "port": "1"} }]"#),
        expect!["P4R0802: no device is called `tro` at [0] did you mean `tor`?"],
    );
    said(wrong(r#"[{ "node": "tor", "port": 1 }]"#), expect!["P4R0804: `linked` is missing at [0] "]);
    said(wrong("[1"), expect!["P4R0804: not valid JSON  "]);
    let twice = DEVICES.replace("\"host\"", "\"card\"");
    said(
        read_devices(&twice, 1, &config).unwrap_err(),
        expect!["P4R0805: device `card` is described twice at [2] "],
    );
    let table = "name,props,g:aP:Data::Bound::Latency,conclusion\na,FPGA,3W,x";
    said(
        read_performance_csv(table, 1, &config.signature).unwrap_err(),
        expect!["P4R0803: not a quantity of this kind  "],
    );
    let program = r#"{"Abstract program": [{"0.Start": []}], "FlightStartAliases": ["0.Strat"], "CFG": []}"#;
    said(
        read_program(program, 1, "p", 0).unwrap_err(),
        expect!["P4R0802: no segment is called `0.Strat` at .FlightStartAliases[0] did you mean `0.Start`?"],
    );
}
