//! A frame's path through the switches of a lab, as text.
//!
//! The frame is an ordinary packet of each switch: registers and counters change. It never leaves a switch; what a switch would send is given
//! to the switch at the other end of the link. Links lose and delay nothing here.

use lab_model::Lab;
use p4rack::run::text::hex;
use p4runtime_proto::p4rack::v1::{Hop, TraceResponse};
use rack_model::{End, NodeId};
use std::collections::VecDeque;
use std::fmt::Write;

/// Limit on the switches that a frame and its copies pass: programs may send in circles.
const MOST_HOPS: usize = 1000;

/// A port of a node.
pub type Place = (NodeId, u32);

/// Follows a frame that a node sends by a port: a host to the switch at its other end, a switch as if the frame came in there. `trace` runs a
/// frame on a switch.
pub fn follow(
    lab: &Lab,
    from: Place,
    frame: Vec<u8>,
    mut trace: impl FnMut(usize, u32, Vec<u8>) -> Result<Vec<Hop>, String>,
) -> Result<String, String> {
    let start = match from.0 {
        NodeId::Device(_) => Some(from),
        NodeId::Host(_) => other_end(lab, from).map(place),
    };
    let start = start.ok_or_else(|| format!("no link leaves `{}`", lab.node_name(from.0)))?;
    let (mut waiting, mut hops, mut text) = (VecDeque::from([(start, frame)]), 0, String::new());
    while let Some(((node, port), frame)) = waiting.pop_front() {
        let name = lab.node_name(node);
        let NodeId::Device(switch) = node else {
            let _ = writeln!(text, "{name} receives {} bytes\n  {}", frame.len(), hex(&frame));
            continue;
        };
        hops += 1;
        if hops > MOST_HOPS {
            let _ =
                writeln!(text, "stopped after {MOST_HOPS} switches: the frame goes in circles or multiplies");
            break;
        }
        for mut hop in trace(switch.0 as usize, port, frame)? {
            hop.device = name.to_string();
            for leaving in &mut hop.leaves {
                let Some(next) = other_end(lab, (node, leaving.port)) else { continue };
                leaving.to = lab.interface(next);
                waiting.push_back((place(next), leaving.frame.clone()));
            }
            text += &p4rack::ctl::trace(&TraceResponse { hops: vec![hop] });
        }
    }
    Ok(text)
}

fn place(end: End) -> Place {
    (end.node, end.port)
}

/// The other end of the link at this place.
fn other_end(lab: &Lab, at: Place) -> Option<End> {
    lab.links.iter().find_map(|link| match link.ends {
        [a, b] if place(a) == at => Some(b),
        [a, b] if place(b) == at => Some(a),
        _ => None,
    })
}
