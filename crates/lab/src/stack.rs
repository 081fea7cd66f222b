//! A host's network stack: addresses, routes, neighbours, by rtnetlink. All of it happens in the namespace of the calling thread.

use futures_util::TryStreamExt;
use lab_model::{Gateway, Host};
use rack_model::Mac;
use rtnetlink::packet_route::neighbour::NeighbourState;
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Switches that the tutorials turn off in every host, too: without them programs that know no IPv6 see frames that nobody asked for.
const NO_IPV6: [&str; 2] = ["all", "default"];

/// Sets the loopback up.
pub fn loopback() -> Result<(), String> {
    with(async |handle| up(handle, "lo", None).await)
}

/// No interface of this namespace, now or later, has IPv6. A kernel without IPv6 has nothing to turn off.
pub fn without_ipv6() {
    for which in NO_IPV6 {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
}

/// Sets an interface up with its MAC address.
pub fn interface(name: &str, mac: Option<Mac>) -> Result<(), String> {
    with(async |handle| up(handle, name, mac).await)
}

/// Addresses, routes and neighbours of a host; `name` is its first interface, which is up.
pub fn configure(host: &Host, name: &str) -> Result<(), String> {
    with(async |handle| {
        let index = index(handle, name).await?;
        for network in &host.addresses {
            let added = handle.address().add(index, network.address, network.prefix).execute().await;
            added.map_err(|error| told(&format!("address {network}"), &error))?;
        }
        for neighbour in &host.neighbours {
            know(handle, index, neighbour.address, neighbour.mac).await?;
        }
        match host.gateway {
            None => Ok(()),
            Some(Gateway::Address(address)) => default_route(handle, index, address).await,
            Some(Gateway::Mac(mac)) => {
                // A neighbour that nobody has: frames to all other networks carry its MAC address.
                let address = Ipv4Addr::new(169, 254, 0, 1).into();
                know(handle, index, address, mac).await?;
                default_route(handle, index, address).await
            }
        }
    })
}

/// Sets an interface up or down.
pub fn set_up(name: &str, is_up: bool) -> Result<(), String> {
    with(async |handle| {
        let link = LinkUnspec::new_with_name(name);
        let link = if is_up { link.up() } else { link.down() };
        handle.link().change(link.build()).execute().await.map_err(|error| told(name, &error))
    })
}

async fn up(handle: &Handle, name: &str, mac: Option<Mac>) -> Result<(), String> {
    let index = index(handle, name).await?;
    if let Some(Mac(mac)) = mac {
        let link = LinkUnspec::new_with_index(index).address(mac.to_vec()).build();
        let changed = handle.link().change(link).execute().await;
        changed.map_err(|error| told(&format!("MAC address of {name}"), &error))?;
    }
    let link = LinkUnspec::new_with_index(index).up().build();
    handle.link().change(link).execute().await.map_err(|error| told(name, &error))
}

async fn index(handle: &Handle, name: &str) -> Result<u32, String> {
    let found = handle.link().get().match_name(name.to_string()).execute().try_next().await;
    match found {
        Ok(Some(link)) => Ok(link.header.index),
        Ok(None) => Err(format!("there is no interface {name}")),
        Err(error) => Err(told(name, &error)),
    }
}

async fn know(handle: &Handle, index: u32, address: IpAddr, Mac(mac): Mac) -> Result<(), String> {
    let entry = handle.neighbours().add(index, address).link_layer_address(&mac).state(NeighbourState::Permanent);
    entry.replace().execute().await.map_err(|error| told(&format!("neighbour {address}"), &error))
}

async fn default_route(handle: &Handle, index: u32, gateway: IpAddr) -> Result<(), String> {
    let route = match gateway {
        IpAddr::V4(gateway) => RouteMessageBuilder::<Ipv4Addr>::new().gateway(gateway).output_interface(index).onlink().build(),
        IpAddr::V6(gateway) => RouteMessageBuilder::<Ipv6Addr>::new().gateway(gateway).output_interface(index).onlink().build(),
    };
    handle.route().add(route).execute().await.map_err(|error| told(&format!("gateway {gateway}"), &error))
}

fn told(what: &str, error: &dyn Display) -> String {
    format!("{what}: {error}")
}

/// Asks the kernel something, in the namespace of this thread.
fn with(ask: impl AsyncFnOnce(&Handle) -> Result<(), String>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let opened: io::Result<_> = rtnetlink::new_connection();
        let (connection, handle, _) = opened.map_err(|error| format!("netlink: {error}"))?;
        tokio::spawn(connection);
        ask(&handle).await
    })
}
