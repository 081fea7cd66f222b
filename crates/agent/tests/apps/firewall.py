"""The stateful firewall: packets from outside pass exactly where a host inside has opened the connection."""

import finsy as fy
from common import TCP, UDP, ask_for, counted, ends, is_sound, main, packet, route

KEY = ("hdr_ipv4_{0}", "hdr_ipv4_{1}", "hdr_ipv4_protocol", "meta_l4_{0}", "meta_l4_{1}")


def entry(table, first, second, inside, outside, protocol, sport, dport):
    names = [name.format(first, second) for name in KEY]
    match = dict(zip(names, [inside, outside, protocol, sport, dport]))
    return fy.P4TableEntry(f"FirewallIngress.{table}", match=fy.Match(match), action=fy.Action("FirewallIngress.admit"))


def entries(*flow):
    return [entry("inbound", "dst", "src", *flow), entry("outbound", "src", "dst", *flow)]


async def trial(switch, cables, rng):
    side = fy.P4TableEntry(
        "FirewallIngress.sides",
        match=fy.Match({"standard_metadata_ingress_port": 1}),
        action=fy.Action("FirewallIngress.is_inside"),
    )
    await switch.write([route("FirewallIngress", "10.1.0.0/16", 1), route("FirewallIngress", "198.51.100.0/24", 2), +side])
    reports = await ask_for(switch, "new_connection_t")
    open_flows, refused = set(), 0
    for number in range(60):
        flow = (f"10.1.0.{rng.randint(1, 3)}", f"198.51.100.{rng.randint(1, 2)}", rng.choice([TCP, UDP]), rng.randint(4096, 4098), 80)
        inside, outside, protocol, sport, dport = flow
        if number % 10 == 9 and flow in open_flows:
            await switch.write([-entry for entry in entries(*flow)])
            open_flows.remove(flow)
        if rng.random() < 0.5:
            port, frame = await cables.exchange(1, packet(inside, outside, protocol, sport, dport))
            if flow not in open_flows:
                data = await reports.next()
                told = [data[name] for name in ("inside", "outside", "protocol", "inside_port", "outside_port")]
                assert told[2:] == [protocol, sport, dport], (told, flow)
                await switch.write([+entry for entry in entries(*flow)])
                open_flows.add(flow)
        elif flow in open_flows:
            port, frame = await cables.exchange(2, packet(outside, inside, protocol, dport, sport))
        else:
            refused += 1
            cables.send(2, packet(outside, inside, protocol, dport, sport))
            await counted(switch, "FirewallIngress.refused", 1, refused)
            print(number, "refused", flow)
            continue
        assert is_sound(frame)
        print(number, port, *ends(frame), frame.hex())
    assert cables.came.empty() and refused > 5 and len(open_flows) > 5, (refused, open_flows)
    print(refused, sorted(open_flows))


main(trial)
