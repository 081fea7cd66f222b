"""The SYN proxy: a client that has not answered its cookie never reaches the server; streams of the others pass with the difference of their numbers."""

import struct

import finsy as fy
from common import TCP, ask_for, counted, ends, is_sound, main, route, segment

SERVER, PORT, MSS, SECRET = "10.2.0.1", 80, 1460, 0x5EC2E7
SYN, RST, SYN_ACK, ACK, FIN_ACK = 0x02, 0x04, 0x12, 0x10, 0x11
# Maximum segment sizes that a cookie can hold.
SIZES = [536, 1300, 1440, 1460]


def mss_option(size):
    return b"" if size is None else struct.pack("!BBH", 2, 4, size)


def read(frame):
    """Numbers, flags, maximum segment size and payload of a segment."""
    assert is_sound(frame), frame.hex()
    seq, ack, words, flags = struct.unpack("!IIBB", frame[38:48])
    start = 34 + (words >> 4) * 4
    size = struct.unpack("!H", frame[56:58])[0] if start > 54 else None
    return seq, ack, flags, size, frame[start : 14 + struct.unpack("!H", frame[16:18])[0]]


def entries(client, port, offset):
    side = {"src": "dst", "dst": "src"}
    key = {"hdr_ipv4_src": client, "hdr_ipv4_dst": SERVER, "hdr_tcp_src": port, "hdr_tcp_dst": PORT}
    back = {f"{name[:-3]}{side[name[-3:]]}": value for name, value in key.items()}
    forward = fy.Action("ProxyIngress.to_server", offset=offset)
    backward = fy.Action("ProxyIngress.to_client", offset=offset)
    return [
        fy.P4TableEntry("ProxyIngress.from_server", match=fy.Match(back), action=backward),
        fy.P4TableEntry("ProxyIngress.from_client", match=fy.Match(key), action=forward),
    ]


async def trial(switch, cables, rng):
    is_server = fy.Action("ProxyIngress.is_server", mss=MSS, secret=SECRET)
    protected = [
        fy.P4TableEntry("ProxyIngress.servers", match=fy.Match({"hdr_ipv4_dst": SERVER}), action=is_server),
        fy.P4TableEntry("ProxyIngress.behind", match=fy.Match({"hdr_ipv4_src": SERVER}), action=fy.Action("ProxyIngress.is_behind")),
    ]
    await switch.write([+entry for entry in protected])
    await switch.write([route("ProxyIngress", "198.51.100.0/24", 1), route("ProxyIngress", "10.2.0.0/16", 2)])
    ready, answered, closing = [await ask_for(switch, name) for name in ("client_ready_t", "server_ready_t", "closing_t")]
    refused = {0: 0, 1: 0}
    for number in range(24):
        client, port = f"198.51.100.{rng.randint(1, 4)}", 5000 + number
        x, s, wanted = rng.getrandbits(32), rng.getrandbits(32), [None, 1000, 1300, 1440, 1460, 9000][number % 6]

        def up(seq, ack, flags, options=b"", payload=b""):
            return segment(client, SERVER, port, PORT, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, flags, options, payload)

        def down(seq, ack, flags, options=b"", payload=b""):
            return segment(SERVER, client, PORT, port, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, flags, options, payload)

        async def sent(frame, came, to, kind):
            """Sends a frame; the numbers, maximum segment size and payload of the segment of this kind that leaves, and its frame."""
            leaves, left = await cables.exchange(came, frame)
            seq, ack, flags, size, payload = read(left)
            assert (leaves, flags) == (to, kind), (leaves, flags, to, kind)
            return seq, ack, size, payload, left

        async def drops(frame, came, why):
            refused[why] += 1
            cables.send(came, frame)
            await counted(switch, "ProxyIngress.refused", why, refused[why])
            print(number, "refused", why)

        cookie, ack, size, payload, left = await sent(up(x, 0, SYN, mss_option(wanted)), 1, 1, SYN_ACK)
        assert (ack, size, payload) == ((x + 1) & 0xFFFFFFFF, MSS, b""), (ack, size, payload)
        assert ends(left) == (SERVER, PORT, client, port), ends(left)
        # A cookie that nobody gave, and an answer that nobody asked for.
        await drops(up(x + 1, cookie + 1 + (1 << rng.randint(8, 31)), ACK), 1, 0)
        await drops(down(s, x + 1, ACK), 2, 1)
        if number % 4 == 3:
            # A client that never answers leaves nothing behind.
            continue
        seq, ack, size, payload, left = await sent(up(x + 1, cookie + 1, ACK), 1, 2, SYN)
        assert (seq, ack, size) == (x, 0, max(one for one in SIZES if one <= max(wanted or 536, 536))), (seq, ack, size)
        print(number, left.hex())
        told = await ready.next()
        assert [told[name] for name in ("client_port", "server_port", "cookie")] == [port, PORT, cookie], told
        seq, ack, size, payload, left = await sent(down(s, x + 1, SYN_ACK, mss_option(1460)), 2, 2, ACK)
        assert (seq, ack, payload) == ((x + 1) & 0xFFFFFFFF, (s + 1) & 0xFFFFFFFF, b""), (seq, ack)
        print(number, left.hex())
        told = await answered.next()
        assert [told[name] for name in ("client_port", "number", "flags")] == [port, s, SYN_ACK], told
        offset = (s - cookie) & 0xFFFFFFFF
        await switch.write([+entry for entry in entries(client, port, offset)])
        sent_up = sent_down = 1
        for count in range(rng.randint(2, 4)):
            data = rng.randbytes(rng.randint(1, 40))
            if rng.random() < 0.5:
                seq, ack, _, payload, left = await sent(up(x + sent_up, cookie + sent_down, ACK, payload=data), 1, 2, ACK)
                assert (seq, ack, payload) == ((x + sent_up) & 0xFFFFFFFF, (s + sent_down) & 0xFFFFFFFF, data)
                sent_up += len(data)
                print(number, count, left.hex())
            else:
                seq, ack, _, payload, left = await sent(down(s + sent_down, x + sent_up, ACK, payload=data), 2, 1, ACK)
                assert (seq, ack, payload) == ((cookie + sent_down) & 0xFFFFFFFF, (x + sent_up) & 0xFFFFFFFF, data)
                sent_down += len(data)
                # The client's numbers come from its cookie, and so from the clock.
                print(number, count, *ends(left), sent_down, payload.hex())
        _, _, _, _, left = await sent(up(x + sent_up, cookie + sent_down, FIN_ACK), 1, 2, FIN_ACK)
        print(number, left.hex())
        assert (await closing.next())["client_port"] == port
        await switch.write([-entry for entry in entries(client, port, offset)])
        await drops(down(s + sent_down, x + sent_up, ACK), 2, 1)
    assert cables.came.empty() and all(reports.came.empty() for reports in (ready, answered, closing))
    print(sorted(refused.items()))


main(trial)
