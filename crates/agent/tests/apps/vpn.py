"""The VPN gateway: GRE outside, VXLAN inside; of known tunnels each packet comes out whole in the other form, of others none."""

import struct

import finsy as fy
from common import UDP, address, checksum, counted, main, packet, route

GATEWAY, SITE, INSIDE, SERVER = "192.0.2.1", "198.51.100.7", "10.9.0.1", "10.1.0.5"
GRE, VXLAN = 47, 4789
# Key of GRE, VNI, tenant.
TUNNELS = [(0x11111, 4097, 3), (0x22222, 4098, 4)]


def wrapped(src, dst, protocol, body):
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 7, 0, 64, protocol, 0) + address(src) + address(dst)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return bytes.fromhex("0200000000010200000000aa0800") + head + body


def gre(key, inner):
    return wrapped(SITE, GATEWAY, GRE, struct.pack("!HHI", 0x2000, 0x0800, key) + inner)


def vxlan(vni, inner):
    frame = bytes.fromhex("0200000000010200000000020800") + inner
    body = struct.pack("!HHHHBBHI", 5555, VXLAN, 16 + len(frame), 0, 8, 0, 0, vni << 8) + frame
    return wrapped(SERVER, INSIDE, UDP, body)


def tunnel(protocol, src, dst, number, action):
    match = {"hdr_ipv4_protocol": protocol, "hdr_ipv4_src": src, "hdr_ipv4_dst": dst, "meta_tunnel": number}
    return +fy.P4TableEntry("VpnIngress.tunnels", match=fy.Match(match), action=action)


def value(text):
    return int.from_bytes(address(text), "big")


async def trial(switch, cables, rng):
    await switch.write([route("VpnIngress", "10.0.0.0/8", 1), route("VpnIngress", "198.51.100.0/24", 2)])
    for key, vni, tenant in TUNNELS:
        inward = fy.Action(
            "VpnIngress.inward", tenant=tenant, src=value(INSIDE), dst=value(SERVER), vni=vni, entropy=7000 + tenant, most=1500
        )
        outward = fy.Action("VpnIngress.outward", tenant=tenant, src=value(GATEWAY), dst=value(SITE), key=key)
        await switch.write([tunnel(GRE, SITE, GATEWAY, key, inward), tunnel(UDP, SERVER, INSIDE, vni, outward)])
    accepted, unknown = {tenant: 0 for _, _, tenant in TUNNELS}, 0
    for count in range(60):
        key, vni, tenant = rng.choice(TUNNELS)
        inner = packet("172.16.0.1", "172.16.0.2", UDP, 1000, 2000, bytes(rng.randint(0, 255) for _ in range(rng.randint(0, 80))))[14:]
        if rng.random() < 0.2:
            unknown += 1
            cables.send(2, gre(key + 1, inner))
            await counted(switch, "VpnIngress.refused", 1, unknown)
            print(count, "unknown")
            continue
        accepted[tenant] += 1
        if rng.random() < 0.5:
            port, left = await cables.exchange(2, gre(key, inner))
            assert (port, left[23], left[26:34]) == (1, UDP, address(INSIDE) + address(SERVER)), left.hex()
            sport, dport, length = struct.unpack("!HHH", left[34:40])
            assert (sport, dport, length, left[46:49]) == (7000 + tenant, VXLAN, 30 + len(inner), vni.to_bytes(3, "big")), left.hex()
            whole = left[64:]
        else:
            port, left = await cables.exchange(1, vxlan(vni, inner))
            assert (port, left[23], left[26:34]) == (2, GRE, address(GATEWAY) + address(SITE)), left.hex()
            assert left[34:42] == struct.pack("!HHI", 0x2000, 0x0800, key), left.hex()
            whole = left[42:]
        assert whole == inner and checksum(left[14:34]) == 0, left.hex()
        print(count, port, left.hex())
    for tenant, packets in accepted.items():
        await counted(switch, "VpnIngress.accepted", tenant, packets)
    assert cables.came.empty() and unknown > 5 and min(accepted.values()) > 5, (unknown, accepted)


main(trial)
