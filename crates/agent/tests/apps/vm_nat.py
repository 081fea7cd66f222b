"""The NAT of machines: some have public addresses of their own, all others share one; answers come back to who asked."""

import socket

import finsy as fy
from common import TCP, UDP, ask_for, counted, ends, is_sound, main, packet, route

SHARED = "192.0.2.1"
OWN = {"10.0.0.1": "192.0.2.17"}


def number(text):
    return int.from_bytes(socket.inet_aton(text), "big")


def own(table, side, address, to):
    action = "source_address" if side == "src" else "destination_address"
    match = fy.Match({f"hdr_ipv4_{side}": address})
    return +fy.P4TableEntry(f"VmNatIngress.{table}", match=match, action=fy.Action(f"VmNatIngress.{action}", addr=number(to)))


def entries(src, dst, protocol, sport, dport, public):
    out = fy.P4TableEntry(
        "VmNatIngress.outbound",
        match=fy.Match({
            "hdr_ipv4_src": src, "hdr_ipv4_dst": dst, "hdr_ipv4_protocol": protocol, "meta_l4_src": sport, "meta_l4_dst": dport,
        }),
        action=fy.Action("VmNatIngress.source_is", addr=number(SHARED), l4_port=public),
    )
    back = fy.P4TableEntry(
        "VmNatIngress.inbound",
        match=fy.Match({
            "hdr_ipv4_dst": SHARED, "hdr_ipv4_src": dst, "hdr_ipv4_protocol": protocol, "meta_l4_dst": public, "meta_l4_src": dport,
        }),
        action=fy.Action("VmNatIngress.destination_is", addr=number(src), l4_port=sport),
    )
    return [+back, +out]


async def trial(switch, cables, rng):
    side = fy.P4TableEntry(
        "VmNatIngress.sides",
        match=fy.Match({"standard_metadata_ingress_port": 1}),
        action=fy.Action("VmNatIngress.is_inside"),
    )
    await switch.write([+side, route("VmNatIngress", "10.0.0.0/8", 1), route("VmNatIngress", "198.51.100.0/24", 3)])
    for inside, outside in OWN.items():
        await switch.write([own("own_outbound", "src", inside, outside), own("own_inbound", "dst", outside, inside)])
    reports = await ask_for(switch, "vm_flow_t")
    known, unknown, free, of_own = {}, {0: 0, 1: 0}, iter(range(20000, 21000)), 0
    for count in range(60):
        flow = (f"10.0.0.{rng.randint(1, 3)}", "198.51.100.9", rng.choice([TCP, UDP]), rng.randint(5000, 5002), 443)
        src, dst, protocol, sport, dport = flow
        outward, frame = rng.random() < 0.6, packet(src, dst, protocol, sport, dport)
        if src in OWN:
            of_own += 1
            if outward:
                port, left = await cables.exchange(1, frame)
                assert ends(left) == (OWN[src], sport, dst, dport), ends(left)
            else:
                port, left = await cables.exchange(3, packet(dst, OWN[src], protocol, dport, sport))
                assert ends(left) == (dst, dport, src, sport), ends(left)
        elif outward:
            if flow not in known:
                unknown[0] += 1
                cables.send(1, frame)
                data = await reports.next()
                assert [data[name] for name in ("protocol", "src_port")] == [protocol, sport], data
                await counted(switch, "VmNatIngress.unknown", 0, unknown[0])
                known[flow] = next(free)
                await switch.write(entries(*flow, known[flow]))
            port, left = await cables.exchange(1, frame)
            assert ends(left) == (SHARED, known[flow], dst, dport), ends(left)
        elif flow in known:
            port, left = await cables.exchange(3, packet(dst, SHARED, protocol, dport, known[flow]))
            assert ends(left) == (dst, dport, src, sport), ends(left)
        else:
            unknown[1] += 1
            cables.send(3, packet(dst, SHARED, protocol, dport, 30000 + count))
            await counted(switch, "VmNatIngress.unknown", 1, unknown[1])
            print(count, "unknown")
            continue
        assert is_sound(left)
        print(count, port, *ends(left), left.hex())
    assert cables.came.empty() and of_own > 5 and len(known) > 5, (of_own, known)


main(trial)
