"""The NAT of tenants with the same private addresses: no two flows have one public side, and answers come back to who asked."""

import socket

import finsy as fy
from common import TCP, UDP, ask_for, counted, ends, is_sound, main, packet, route

PUBLIC = {1: "192.0.2.1", 2: "192.0.2.2"}


def number(text):
    return int.from_bytes(socket.inet_aton(text), "big")


def entries(tenant, src, dst, protocol, sport, dport, public):
    out = fy.P4TableEntry(
        "NatIngress.outbound",
        match=fy.Match({
            "meta_tenant": tenant, "hdr_ipv4_src": src, "hdr_ipv4_dst": dst, "hdr_ipv4_protocol": protocol,
            "meta_l4_src": sport, "meta_l4_dst": dport,
        }),
        action=fy.Action("NatIngress.source_is", addr=number(PUBLIC[tenant]), l4_port=public),
    )
    back = fy.P4TableEntry(
        "NatIngress.inbound",
        match=fy.Match({
            "hdr_ipv4_dst": PUBLIC[tenant], "hdr_ipv4_src": dst, "hdr_ipv4_protocol": protocol,
            "meta_l4_dst": public, "meta_l4_src": dport,
        }),
        action=fy.Action("NatIngress.destination_is", addr=number(src), l4_port=sport),
    )
    # Answers can be translated before the first packet leaves.
    return [back, out]


async def trial(switch, cables, rng):
    tenants = [
        fy.P4TableEntry(
            "NatIngress.tenants",
            match=fy.Match({"standard_metadata_ingress_port": tenant}),
            action=fy.Action("NatIngress.tenant_is", tenant=tenant),
        )
        for tenant in PUBLIC
    ]
    routes = [("10.0.0.0/8", 1), ("198.51.100.0/24", 3)]
    await switch.write([+entry for entry in tenants] + [route("NatIngress", *one) for one in routes])
    reports = await ask_for(switch, "new_flow_t")
    known, unknown, free, seen = {}, {0: 0, 1: 0, 2: 0}, iter(range(20000, 21000)), set()
    for count in range(60):
        tenant = rng.randint(1, 2)
        flow = (tenant, f"10.0.0.{rng.randint(1, 2)}", "198.51.100.9", rng.choice([TCP, UDP]), rng.randint(5000, 5002), 443)
        _, src, dst, protocol, sport, dport = flow
        frame = packet(src, dst, protocol, sport, dport)
        if rng.random() < 0.6:
            if flow not in known:
                # The first packet only makes the flow known.
                unknown[tenant] += 1
                cables.send(tenant, frame)
                data = await reports.next()
                assert [data[name] for name in ("tenant", "protocol", "src_port")] == [tenant, protocol, sport], data
                await counted(switch, "NatIngress.unknown", tenant, unknown[tenant])
                known[flow] = next(free)
                await switch.write([+entry for entry in entries(*flow, known[flow])])
            port, left = await cables.exchange(tenant, frame)
            assert port == 3 and ends(left) == (PUBLIC[tenant], known[flow], dst, dport), ends(left)
            seen.add((ends(left), protocol))
        elif flow in known:
            port, left = await cables.exchange(3, packet(dst, PUBLIC[tenant], protocol, dport, known[flow]))
            assert ends(left) == (dst, dport, src, sport), ends(left)
        else:
            unknown[0] += 1
            cables.send(3, packet(dst, PUBLIC[tenant], protocol, dport, 30000 + count))
            await counted(switch, "NatIngress.unknown", 0, unknown[0])
            print(count, "unknown")
            continue
        assert is_sound(left)
        print(count, port, *ends(left), left.hex())
    assert cables.came.empty() and len(seen) == len(known) > 10 and unknown[0] > 5, (seen, known, unknown)


main(trial)
