//! Frames that found no room on their path from a switch to the servers of a group.

use dataplane_ports::QUEUE_FULL;
use p4runtime_proto::p4rack::v1::ShowResponse;

/// Counts them for each group, from the ports of the switch that lead to its servers.
pub(crate) fn count(shown: &mut ShowResponse) {
    let ShowResponse { groups, ports, .. } = shown;
    for group in groups {
        let is_ours = |number: u32| group.servers.iter().any(|server| server.port == number);
        let own = ports.iter().filter(|port| is_ours(port.number));
        group.queue_full = own.filter_map(|port| port.lost.get(QUEUE_FULL)).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::p4rack::v1::{Group, Port, Server};

    #[test]
    fn a_group_has_the_losses_of_the_ports_to_its_servers() {
        let port = |number, lost: &[(&str, u64)]| Port {
            number,
            lost: lost.iter().map(|(why, count)| (why.to_string(), *count)).collect(),
            ..Port::default()
        };
        let group = |ports: &[u32]| Group {
            servers: ports.iter().map(|port| Server { port: *port, ..Server::default() }).collect(),
            ..Group::default()
        };
        let mut shown = ShowResponse {
            ports: vec![
                port(1, &[("send queue full", 100)]),
                port(3, &[("send queue full", 4), ("interface down", 20)]),
                port(4, &[("send queue full", 5)]),
                port(5, &[("send queue full", 6)]),
            ],
            groups: vec![group(&[3, 4]), group(&[5]), group(&[6])],
            ..ShowResponse::default()
        };
        count(&mut shown);
        assert_eq!(shown.groups.iter().map(|group| group.queue_full).collect::<Vec<_>>(), [9, 6, 0]);
    }
}
