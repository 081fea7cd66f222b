//! One switch, with network cards and servers around it.

use super::router::Router;
use super::{File, ROUTER, link};
use crate::Mac;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// Limit on the links of a switch: ports 1 to 510 of a v1model device.
const MOST: u32 = 250;

const SWITCH: Mac = Mac([2, 1, 0, 0, 0, 1]);

/// A rack of one switch, `nics` programmable network cards and `servers` hosts, which all ping all others. Regions of the
/// program can be placed on the cards by the app's `map`.
pub fn star(nics: u32, servers: u32) -> Result<Vec<File>, String> {
    if !(2..=MOST).contains(&servers) || nics > MOST {
        return Err(format!("a rack of one switch has 2 to {MOST} servers and at most {MOST} cards"));
    }
    let mut router = Router::new(SWITCH);
    let mut rack = format!(
        "# One switch: p4rack generate-rack star --nics {nics} --servers {servers}\n\n[rack]\nname = \"star\"\nseed = 1\n\n\
         [[app]]\nprogram = \"router.p4\"\nentries = \"entries.stf\"\norigin = \"tor\"\nmap = {{}}\n\n\
         [device.tor]\nclass = \"switch\"\n\n"
    );
    for server in 1..=servers {
        let (address, mac) = (Ipv4Addr::new(10, 0, 0, server as u8), Mac([2, 0, 0, 0, 0, server as u8]));
        router.host(server, address, mac);
        let _ = write!(
            rack,
            "[host.h{server}]\nmac = \"{mac}\"\nip = \"{address}/32\"\ngateway = \"{SWITCH}\"\n\n"
        );
        rack.push_str(&link([format!("h{server}"), format!("tor:{server}")], "10Gbit/s", "500ns"));
    }
    for nic in 1..=nics {
        let _ = write!(rack, "[device.nic{nic}]\nclass = \"smartnic\"\n\n");
        rack.push_str(&link([format!("nic{nic}:1"), format!("tor:{}", servers + nic)], "25Gbit/s", "200ns"));
    }
    rack.push_str(
        "[[workload]]\nname = \"all-to-all\"\nkind = \"ping\"\nfrom = \"*\"\nto = \"*\"\ncount = 4\ninterval = \"1ms\"\n\
         stagger = \"1us\"\n\n\
         [[workload]]\nname = \"background\"\nkind = \"poisson\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 1000\nrate = \"4Gbit/s\"\n",
    );
    Ok(vec![
        File::new("RACK.toml", rack),
        File::new("router.p4", ROUTER),
        File::new("entries.stf", router.into_text()),
    ])
}
