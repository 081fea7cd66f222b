//! Throughput and loss of small racks, as the user sees them.

use crate::common;

use common::*;
use expect_test::expect;
use rack_emulator::RunEnd;
use rack_model::Probability;

#[test]
fn three_hosts_at_a_hub() {
    let mut rack = star(3);
    rack.name = "hub".into();
    rack.links[1].loss = Probability::parse("2%").unwrap();
    rack.links[2].rate = "100Mbit/s".parse().unwrap();
    rack.links[2].queue = 8;
    rack.workloads =
        vec![ping(1, 2, 200, us(500)), udp("flood", 1, 3, 2000, 1000, 200), udp("back", 2, 1, 500, 200, 20)];
    let mut toy = Toy::new(hub);
    toy.ports.push(3);
    let mut emulator = emulator(&rack, toy);
    assert_eq!(emulator.run(), Ok(RunEnd::Drained));
    expect![[r#"
        rack hub, seed 1: 99.55ms of virtual time, 13863 events, log 600a0148f5c90337
        packets: 5773 created = 1756 delivered + 4017 dropped + 0 in flight

        workload  path      sent  received  lost  doubled  late  corrupt      goodput
        ping      h1 -> h2   200       191     9        0     0        0            -
        flood     h1 -> h3  2000       883  1117        0     0        0  87.57Mbit/s
        back      h2 -> h1   500       487    13        0     0        0  19.48Mbit/s

        latency      min     mean  deviation      p50      p90      p95      p99    p99.9      max
        ping      45.9us  45.94us    100.4ns   45.9us  46.23us  46.23us  46.23us  46.23us  46.23us
        flood    138.3us  647.6us    108.3us    686us  778.1us  786.7us  794.2us  797.7us    798us
        back     25.26us  25.26us        0ps  25.26us  25.26us  25.26us  25.26us  25.26us  25.26us

        device  class   engine  received  sent  created  dropped  backlog
        dev     switch  toy         2878  4148     2878        0        0

        link              rate   used  frames    bytes  lost  refused  queue
        h1 -> dev:1    1Gbit/s  17.3%    2200  2103600     0        0      1
        dev:1 -> h1    1Gbit/s   1.2%     678   136572     0        0      1
        h2 -> dev:2    1Gbit/s   1.3%     695   140110    17        0      1
        dev:2 -> h2    1Gbit/s  17.3%    2200  2103600    36        0      1
        h3 -> dev:3  100Mbit/s   0.0%       0        0     0        0      0
        dev:3 -> h3  100Mbit/s  81.8%    1270   987532     0     1608      8

        dropped at   why                packets
        h2           not for this host     1969
        h3           not for this host      387
        dev:3        queue full            1608
        h2 -> dev:2  lost on the link        17
        dev:2 -> h2  lost on the link        36
    "#]]
    .assert_eq(&emulator.report().to_table());
}

#[test]
fn a_dropper_and_a_port_without_a_link() {
    let mut rack = star(2);
    rack.name = "dropper".into();
    rack.workloads = vec![udp("stream", 1, 2, 1000, 100, 8)];
    let mut dropping = emulator(&rack, Toy::new(dropper));
    dropping.run().unwrap();
    expect![[r#"
        rack dropper, seed 1: 99.91ms of virtual time, 3900 events, log 28f9e98c709e53dd
        packets: 1000 created = 900 delivered + 100 dropped + 0 in flight

        workload  path      sent  received  lost  doubled  late  corrupt      goodput
        stream    h1 -> h2  1000       900   100        0     0        0  7.206Mbit/s

        latency      min     mean  deviation      p50      p90      p95      p99    p99.9      max
        stream   23.66us  23.66us        0ps  23.66us  23.66us  23.66us  23.66us  23.66us  23.66us

        device  class   engine  received  sent  created  dropped  backlog
        dev     switch  toy         1000   900        0      100        0

        link            rate  used  frames   bytes  lost  refused  queue
        h1 -> dev:1  1Gbit/s  1.3%    1000  142000     0        0      1
        dev:1 -> h1  1Gbit/s  0.0%       0       0     0        0      0
        h2 -> dev:2  1Gbit/s  0.0%       0       0     0        0      0
        dev:2 -> h2  1Gbit/s  1.2%     900  127800     0        0      1

        dropped at  why                 packets
        dev         dropped in ingress      100
    "#]]
    .assert_eq(&dropping.report().to_table());

    let mut nowhere = emulator(&rack, Toy::new(|_, _, frame, _| vec![(out(77), frame)]));
    nowhere.run().unwrap();
    expect![[r#"
        rack dropper, seed 1: 99.91ms of virtual time, 3000 events, log a57875ed9b53eed2
        packets: 1000 created = 0 delivered + 1000 dropped + 0 in flight

        workload  path      sent  received  lost  doubled  late  corrupt  goodput
        stream    h1 -> h2  1000         0  1000        0     0        0        -

        device  class   engine  received  sent  created  dropped  backlog
        dev     switch  toy         1000  1000        0        0        0

        link            rate  used  frames   bytes  lost  refused  queue
        h1 -> dev:1  1Gbit/s  1.3%    1000  142000     0        0      1
        dev:1 -> h1  1Gbit/s  0.0%       0       0     0        0      0
        h2 -> dev:2  1Gbit/s  0.0%       0       0     0        0      0
        dev:2 -> h2  1Gbit/s  0.0%       0       0     0        0      0

        dropped at  why                  packets
        dev:77      no link on the port     1000
    "#]]
    .assert_eq(&nowhere.report().to_table());
}

/// Rows: the loss of the link. Columns: the rate offered to a link of 100 Mbit/s, in payloads of 1000 bytes.
#[test]
fn throughput_and_loss() {
    let mut table = String::from("loss        50M        90M       120M  offered\n");
    for loss in ["0%", "1%", "10%"] {
        let mut line = format!("{loss:<5}");
        for offered in [50, 90, 120] {
            let mut rack = star(2);
            rack.links[1].rate = "100Mbit/s".parse().unwrap();
            rack.links[1].loss = Probability::parse(loss).unwrap();
            rack.workloads = vec![udp("stream", 1, 2, 2000, 1000, offered)];
            let mut emulator = emulator(&rack, Toy::new(wire));
            emulator.run().unwrap();
            let stream = &emulator.report().workloads[0];
            let lost = stream.lost * 1000 / stream.sent;
            let goodput = stream.goodput_bits_per_s.unwrap() / 100_000;
            line += &format!(" {}.{}M {}.{}%", goodput / 10, goodput % 10, lost / 10, lost % 10);
        }
        table += &line;
        table += "\n";
    }
    expect![[r#"
        loss        50M        90M       120M  offered
        0%    50.0M 0.0% 89.9M 0.0% 93.8M 18.6%
        1%    49.5M 0.9% 89.1M 0.9% 93.0M 19.3%
        10%   44.9M 10.1% 80.9M 10.1% 84.7M 26.5%
    "#]]
    .assert_eq(&table);
}

#[test]
fn the_report_is_data() {
    let mut rack = star(2);
    rack.links[0].rate = "10Mbit/s".parse().unwrap();
    rack.links[0].queue = 1;
    rack.workloads = vec![udp("stream", 1, 2, 3, 100, 100)];
    let mut emulator = emulator(&rack, Toy::new(dropper));
    emulator.run().unwrap();
    let json = serde_json::to_string_pretty(&emulator.report()).unwrap();
    expect![[r#"
        {
          "rack": "rack",
          "seed": 1,
          "duration_ps": 287928000,
          "events": 10,
          "log_hash": "aa6f65ab87a1e28f",
          "packets": {
            "created": 3,
            "delivered": 2,
            "dropped": 1,
            "in_flight": 0
          },
          "workloads": [
            {
              "name": "stream",
              "kind": "udp",
              "from": "h1",
              "to": "h2",
              "pairs": 1,
              "sent": 3,
              "received": 2,
              "lost": 1,
              "duplicated": 0,
              "reordered": 0,
              "corrupted": 0,
              "corrupted_by": {},
              "drops": [
                {
                  "place": "h1",
                  "reason": "queue full",
                  "packets": 1
                }
              ],
              "watched": [],
              "goodput_bits_per_s": 6024096,
              "latency": {
                "min_ps": 155128000,
                "mean_ps": 217528000,
                "deviation_ps": 62400000,
                "median_ps": 155128000,
                "p90_ps": 279928000,
                "p95_ps": 279928000,
                "p99_ps": 279928000,
                "p999_ps": 279928000,
                "max_ps": 279928000
              }
            }
          ],
          "devices": [
            {
              "name": "dev",
              "class": "switch",
              "engine": "toy",
              "received": 2,
              "sent": 2,
              "created": 0,
              "dropped": {},
              "longest_backlog": 0
            }
          ],
          "links": [
            {
              "from": "h1",
              "to": "dev:1",
              "frames": 2,
              "bytes": 284,
              "lost": 0,
              "cut": 0,
              "corrupted": 0,
              "duplicated": 0,
              "reordered": 0,
              "too_long": 0,
              "refused": 1,
              "longest_queue": 1,
              "mean_queue_milli": 433,
              "rate_bits_per_s": 10000000,
              "utilisation_ppm": 922452
            },
            {
              "from": "dev:1",
              "to": "h1",
              "frames": 0,
              "bytes": 0,
              "lost": 0,
              "cut": 0,
              "corrupted": 0,
              "duplicated": 0,
              "reordered": 0,
              "too_long": 0,
              "refused": 0,
              "longest_queue": 0,
              "mean_queue_milli": 0,
              "rate_bits_per_s": 10000000,
              "utilisation_ppm": 0
            },
            {
              "from": "h2",
              "to": "dev:2",
              "frames": 0,
              "bytes": 0,
              "lost": 0,
              "cut": 0,
              "corrupted": 0,
              "duplicated": 0,
              "reordered": 0,
              "too_long": 0,
              "refused": 0,
              "longest_queue": 0,
              "mean_queue_milli": 0,
              "rate_bits_per_s": 1000000000,
              "utilisation_ppm": 0
            },
            {
              "from": "dev:2",
              "to": "h2",
              "frames": 2,
              "bytes": 284,
              "lost": 0,
              "cut": 0,
              "corrupted": 0,
              "duplicated": 0,
              "reordered": 0,
              "too_long": 0,
              "refused": 0,
              "longest_queue": 1,
              "mean_queue_milli": 0,
              "rate_bits_per_s": 1000000000,
              "utilisation_ppm": 9224
            }
          ],
          "drops": [
            {
              "place": "h1",
              "reason": "queue full",
              "packets": 1
            }
          ],
          "faults": [],
          "loops": [],
          "notes": []
        }"#]]
    .assert_eq(&json);
}
