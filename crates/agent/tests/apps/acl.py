"""The access lists: of several rules that fit, the one with the highest priority decides; the tenant's counter counts the others."""

import finsy as fy
from common import TCP, UDP, counted, ends, is_sound, main, packet, route

# Tenants by destination, with the verdict where no rule fits.
TENANTS = [("10.1.0.0/16", 1, 0), ("10.2.0.0/16", 2, 1)]
# Tenant, source, protocol, ports of the destination, verdict, priority.
RULES = [
    (1, "198.51.100.0/24", None, (0, 1023), "deny", 10),
    (1, None, TCP, (80, 80), "permit", 20),
    (1, None, UDP, (53, 60), "deny", 30),
    (2, "203.0.113.7/32", None, (0, 65535), "permit", 10),
    (2, "203.0.113.0/24", TCP, (22, 22), "deny", 20),
]


def rule(tenant, source, protocol, ports, verdict, priority):
    match = {"meta_tenant": tenant}
    if ports != (0, 65535):  # Fields that match everything are left out.
        match["meta_l4_dst"] = ports
    if source:
        match["hdr_ipv4_src"] = source
    if protocol:
        match["hdr_ipv4_protocol"] = (protocol, 0xFF)
    return fy.P4TableEntry(
        "AclIngress.rules", match=fy.Match(match), action=fy.Action(f"AclIngress.{verdict}"), priority=priority
    )


def verdict(source, tenant, protocol, dport):
    fitting = []
    for of, network, kind, (low, high), what, priority in RULES:
        first = (network or "").split("/")[0]
        same = not network or source == first or (network.endswith("/24") and source.rsplit(".", 1)[0] == first.rsplit(".", 1)[0])
        if of == tenant and same and (kind or protocol) == protocol and low <= dport <= high:
            fitting.append((priority, what))
    default = "deny" if TENANTS[tenant - 1][2] else "permit"
    return max(fitting, default=(0, default))[1]


async def trial(switch, cables, rng):
    tenants = [
        fy.P4TableEntry(
            "AclIngress.tenants",
            match=fy.Match({"hdr_ipv4_dst": prefix}),
            action=fy.Action("AclIngress.tenant_is", tenant=tenant, deny=deny),
        )
        for prefix, tenant, deny in TENANTS
    ]
    await switch.write([+entry for entry in tenants] + [+rule(*one) for one in RULES])
    await switch.write([route("AclIngress", "10.1.0.0/16", 1), route("AclIngress", "10.2.0.0/16", 2)])
    filtered = {1: 0, 2: 0}
    passed = 0
    for number in range(80):
        tenant = rng.randint(1, 2)
        source = f"{rng.choice(['198.51.100', '203.0.113'])}.{rng.randint(6, 8)}"
        protocol, dport = rng.choice([TCP, UDP]), rng.choice([22, 53, 60, 80, 443, 2000])
        frame = packet(source, f"10.{tenant}.0.9", protocol, 3000, dport)
        if verdict(source, tenant, protocol, dport) == "permit":
            port, left = await cables.exchange(3, frame)
            assert port == tenant, (port, tenant)
            passed += 1
            # The program does not look at checksums of TCP and UDP, and changes none.
            assert is_sound(left)
            print(number, port, *ends(left), left.hex())
        else:
            filtered[tenant] += 1
            cables.send(3, frame)
            await counted(switch, "AclIngress.filtered", tenant, filtered[tenant])
            print(number, "filtered", source, tenant, protocol, dport)
    assert cables.came.empty() and passed > 10 and min(filtered.values()) > 5, (passed, filtered)


main(trial)
