//! A fat tree (Al-Fares, Loukissas, Vahdat: A scalable, commodity data center network architecture, 2008).
//!
//! With k ports each: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches, k^3/4 hosts. Edge switch
//! e of pod p has hosts 10.p.e.2 and up; traffic for hosts that are not below a switch goes up, spread by flow.

use super::router::Router;
use super::{File, ROUTER, link};
use crate::Mac;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// The largest: pods and hosts have to fit a byte of the address.
const LARGEST: u32 = 64;

const RATE: &str = "10Gbit/s";
const DELAY: &str = "500ns";

/// A fat tree of switches with `k` ports, all hosts pinging all others; `k` is even, 2 to 64.
pub fn fat_tree(k: u32) -> Result<Vec<File>, String> {
    if !(2..=LARGEST).contains(&k) || !k.is_multiple_of(2) {
        return Err(format!("a fat tree has an even number of ports from 2 to {LARGEST}, not {k}"));
    }
    let half = k / 2;
    let mut rack = head(k);
    let mut files = vec![];
    let mut add = |name: &str, router: Router| {
        let path = format!("entries/{name}.stf");
        let _ = write!(rack, "[device.{name}]\nclass = \"switch\"\nentries = \"{path}\"\n\n");
        files.push(File::new(path, router.into_text()));
    };
    for core in 0..half * half {
        let mut router = Router::new(core_mac(core));
        for pod in 0..k {
            // Aggregation switch a of each pod has links to the k/2 core switches from a x k/2 on.
            let (address, mac) = pod_switch(pod, half + core / half);
            router.router(pod + 1, address, mac);
            router.via(ip(pod, 0, 0), 16, pod + 1);
        }
        add(&format!("core-{core}"), router);
    }
    for pod in 0..k {
        for aggregation in 0..half {
            let mut router = Router::new(pod_switch(pod, half + aggregation).1);
            for edge in 0..half {
                let (address, mac) = pod_switch(pod, edge);
                router.router(edge + 1, address, mac);
                router.via(ip(pod, edge, 0), 24, edge + 1);
            }
            for up in 0..half {
                let core = aggregation * half + up;
                router.router(half + up + 1, core_address(k, core), core_mac(core));
            }
            router.up(half + 1, half, true);
            add(&format!("agg-{pod}-{aggregation}"), router);
        }
        for edge in 0..half {
            let mut router = Router::new(pod_switch(pod, edge).1);
            for host in 0..half {
                router.host(host + 1, ip(pod, edge, host + 2), host_mac(pod, edge, host));
            }
            for up in 0..half {
                let (address, mac) = pod_switch(pod, half + up);
                router.router(half + up + 1, address, mac);
            }
            router.up(half + 1, half, false);
            add(&format!("edge-{pod}-{edge}"), router);
        }
    }
    hosts_and_links(&mut rack, k);
    rack.push_str(&traffic(k));
    files.insert(0, File::new("router.p4", ROUTER));
    files.insert(0, File::new("RACK.toml", rack));
    Ok(files)
}

fn head(k: u32) -> String {
    let half = k / 2;
    let mut names: Vec<String> = (0..half * half).map(|core| format!("\"core-{core}\"")).collect();
    for pod in 0..k {
        names.extend((0..half).map(|n| format!("\"agg-{pod}-{n}\"")));
        names.extend((0..half).map(|n| format!("\"edge-{pod}-{n}\"")));
    }
    format!(
        "# A fat tree with k = {k}: p4rack generate-rack fat-tree --k {k}\n\n[rack]\nname = \"fat-tree-{k}\"\nseed = 1\n\n\
         [[app]]\nprogram = \"router.p4\"\norigin = [{}]\n\n",
        names.join(", ")
    )
}

fn hosts_and_links(rack: &mut String, k: u32) {
    let half = k / 2;
    for pod in 0..k {
        for edge in 0..half {
            for host in 0..half {
                let (mac, address) = (host_mac(pod, edge, host), ip(pod, edge, host + 2));
                let gateway = pod_switch(pod, edge).1;
                let _ = write!(
                    rack,
                    "[host.h-{pod}-{edge}-{host}]\nmac = \"{mac}\"\nip = \"{address}/32\"\ngateway = \"{gateway}\"\n\n"
                );
                let ends = [format!("h-{pod}-{edge}-{host}"), format!("edge-{pod}-{edge}:{}", host + 1)];
                rack.push_str(&link(ends, RATE, DELAY));
            }
            for up in 0..half {
                let ends =
                    [format!("edge-{pod}-{edge}:{}", half + up + 1), format!("agg-{pod}-{up}:{}", edge + 1)];
                rack.push_str(&link(ends, RATE, DELAY));
            }
        }
        for aggregation in 0..half {
            for up in 0..half {
                let core = aggregation * half + up;
                let ends = [
                    format!("agg-{pod}-{aggregation}:{}", half + up + 1),
                    format!("core-{core}:{}", pod + 1),
                ];
                rack.push_str(&link(ends, RATE, DELAY));
            }
        }
    }
}

/// Every host pings every other host once, and a host of the first pod pings a host of the last pod as often as there are hosts, beside
/// a background stream.
fn traffic(k: u32) -> String {
    let (last, hosts) = (k - 1, k * k * k / 4);
    let far = format!("h-{last}-{}-{}", k / 2 - 1, k / 2 - 1);
    format!(
        "[[workload]]\nname = \"all-to-all\"\nkind = \"ping\"\nfrom = \"*\"\nto = \"*\"\ncount = 1\nstagger = \"1us\"\n\n\
         [[workload]]\nname = \"across\"\nkind = \"ping\"\nfrom = \"h-0-0-0\"\nto = \"{far}\"\ncount = {hosts}\ninterval = \"100us\"\n\n\
         [[workload]]\nname = \"background\"\nkind = \"poisson\"\nfrom = \"{far}\"\nto = \"h-0-0-0\"\ncount = 1000\nrate = \"4Gbit/s\"\n"
    )
}

fn ip(second: u32, third: u32, fourth: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, second as u8, third as u8, fourth as u8)
}

/// Edge switches come first in a pod, then those of aggregation.
fn pod_switch(pod: u32, number: u32) -> (Ipv4Addr, Mac) {
    (ip(pod, number, 1), Mac([2, 1, 0, pod as u8, number as u8, 1]))
}

fn core_address(k: u32, core: u32) -> Ipv4Addr {
    ip(k + core / 256, core % 256, 1)
}

fn core_mac(core: u32) -> Mac {
    Mac([2, 2, 0, (core >> 8) as u8, core as u8, 1])
}

fn host_mac(pod: u32, edge: u32, host: u32) -> Mac {
    Mac([2, 0, 0, pod as u8, edge as u8, host as u8 + 2])
}
