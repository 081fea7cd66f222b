// SPDX-License-Identifier: GPL-2.0-only
//
// RCP in ns-3: eight senders and a receiver, as in examples/rcp, around a switch that runs its program.
//
//     build/rcp rcp.p4 entries.stf [MACRO...] < transfers > times
//
// A transfer is a line "HOST START BYTES": a host from 0, and a time in nanoseconds. Its line in the output is the time in nanoseconds from its start
// to its last byte at the receiver. A last line on standard error has the packets that were dropped and the longest queue.
//
// Hosts send the packets of p4rack's hosts (docs/protocols.md), by code of their own: a SYN brings the first rate, pieces of 1,444 bytes follow one
// another at the current rate while at most twice the rate times the round trip is under way, and if the next piece is due later than a round trip
// after the last packet, a packet without data asks for the rate. No packet is sent again: a drop ends the program.

#include "p4rack-switch.h"

#include "ns3/abort.h"
#include "ns3/data-rate.h"
#include "ns3/mac48-address.h"
#include "ns3/packet.h"
#include "ns3/queue.h"
#include "ns3/simple-channel.h"
#include "ns3/simple-net-device.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <map>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t HOSTS = 8;
constexpr uint32_t PIECE = 1444;
constexpr uint32_t WISH = 1000000;
constexpr uint32_t OVERHEAD = 24;
/// IPv4, UDP, RCP, and the hosts' own words.
constexpr uint32_t HEADERS = 20 + 8 + 12 + 16;
constexpr uint16_t PORT = 9300;
constexpr uint16_t FIRST_PORT = 10000;
enum Flags : uint8_t
{
    SYN = 1,
    REF = 2,
    DATA = 4,
    ACK = 8,
};

struct Flow
{
    uint32_t host;
    uint64_t start;
    uint32_t bytes;
    uint32_t pieces;
    uint16_t port;

    // The sender.
    uint32_t fresh{0};
    uint32_t left;
    uint32_t transmission{0};
    /// Bytes of frames under way, by transmission, and when each was sent.
    std::map<uint32_t, std::pair<uint64_t, uint32_t>> flight;
    uint64_t flying{0};
    double rate{0};
    double trip{0};
    /// When a piece was sent, and its bytes; when any packet was.
    uint64_t paced;
    uint32_t pacedBytes{0};
    uint64_t sent;
    EventId timer;

    // The receiver.
    uint32_t came{0};
    uint64_t done{0};
};

uint64_t
Nanoseconds()
{
    return Simulator::Now().GetNanoSeconds();
}

void
Put(uint8_t* to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
    {
        to[i] = value >> 8 * (bytes - 1 - i);
    }
}

uint32_t
Get(const uint8_t* from, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
    {
        value = value << 8 | from[i];
    }
    return value;
}

Mac48Address
MacOf(uint32_t host)
{
    const uint8_t bytes[6] = {2, 0, 0, 0, 0, static_cast<uint8_t>(host + 1)};
    Mac48Address mac;
    mac.CopyFrom(bytes);
    return mac;
}

class Network
{
  public:
    Network(const std::string& program, const std::string& entries, const std::vector<std::string>& defines);
    void Run();
    std::vector<Flow> flows;

  private:
    void Begin(size_t index);
    /// Sends what is due, and sets the timer for what is due later.
    void Continue(size_t index);
    void Send(size_t index, uint8_t flags, uint32_t piece, uint32_t data);
    void Packet(uint32_t from, uint32_t to, uint8_t flags, uint32_t trip, std::array<uint32_t, 5> words, uint16_t source, uint16_t destination, uint32_t data);
    bool Hear(Ptr<NetDevice> device, Ptr<const ns3::Packet> packet, uint16_t protocol, const Address& from);

    Ptr<Node> m_node;
    Ptr<P4RackSwitch> m_switch;
    std::vector<Ptr<Node>> m_hosts;
    std::vector<Ptr<SimpleNetDevice>> m_cards;
};

Network::Network(const std::string& program, const std::string& entries, const std::vector<std::string>& defines)
{
    m_node = CreateObject<Node>();
    m_switch = CreateObject<P4RackSwitch>();
    m_switch->SetAttribute("Delay", TimeValue(MicroSeconds(1)));
    m_switch->SetAttribute("Overhead", UintegerValue(OVERHEAD));
    m_switch->Load(program, defines);
    m_switch->WriteFile(entries);
    m_node->AggregateObject(m_switch);
    for (uint32_t host = 0; host <= HOSTS; host++)
    {
        auto channel = CreateObject<SimpleChannel>();
        channel->SetAttribute("Delay", TimeValue(MicroSeconds(40)));
        auto node = CreateObject<Node>();
        std::array<Ptr<SimpleNetDevice>, 2> ends;
        for (auto& end : ends)
        {
            end = CreateObject<SimpleNetDevice>();
            end->SetAttribute("DataRate", DataRateValue(DataRate("1Gbps")));
            end->GetQueue()->SetMaxSize(QueueSize("4096p"));
            end->SetChannel(channel);
        }
        ends[0]->SetAddress(MacOf(host));
        ends[1]->SetAddress(Mac48Address::Allocate());
        node->AddDevice(ends[0]);
        m_node->AddDevice(ends[1]);
        m_switch->AddPort(host + 1, ends[1]);
        ends[0]->SetReceiveCallback(MakeCallback(&Network::Hear, this));
        m_hosts.push_back(node);
        m_cards.push_back(ends[0]);
    }
}

void
Network::Run()
{
    for (size_t index = 0; index < flows.size(); index++)
    {
        Simulator::Schedule(NanoSeconds(flows[index].start), &Network::Begin, this, index);
    }
    Simulator::Run();
    std::cerr << m_switch->GetDropped() << " dropped, queue " << m_switch->GetLongest(HOSTS + 1) << std::endl;
}

void
Network::Begin(size_t index)
{
    auto& flow = flows[index];
    flow.left = flow.pieces;
    flow.paced = Nanoseconds();
    Send(index, SYN, 0, 0);
}

void
Network::Send(size_t index, uint8_t flags, uint32_t piece, uint32_t data)
{
    auto& flow = flows[index];
    uint32_t frame = 14 + HEADERS + data;
    flow.flight[flow.transmission] = {Nanoseconds(), frame};
    flow.flying += frame;
    flow.sent = Nanoseconds();
    uint32_t trip = flow.trip == 0 ? 0 : std::max<uint32_t>(flow.trip / 1000, 1);
    Packet(flow.host, HOSTS, flags, trip, {WISH, 0, static_cast<uint32_t>(index), piece, flow.transmission}, flow.port, PORT, data);
    flow.transmission++;
}

void
Network::Packet(uint32_t from, uint32_t to, uint8_t flags, uint32_t trip, std::array<uint32_t, 5> words, uint16_t source, uint16_t destination, uint32_t data)
{
    std::vector<uint8_t> bytes(HEADERS + data);
    bytes[0] = 0x45;
    Put(&bytes[2], bytes.size(), 2);
    bytes[6] = 0x40;
    bytes[8] = 64;
    bytes[9] = 17;
    Put(&bytes[12], 0x0a000001 + from, 4);
    Put(&bytes[16], 0x0a000001 + to, 4);
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
    {
        sum += Get(&bytes[i], 2);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    Put(&bytes[10], ~((sum & 0xffff) + (sum >> 16)), 2);
    Put(&bytes[20], source, 2);
    Put(&bytes[22], destination, 2);
    Put(&bytes[24], bytes.size() - 20, 2);
    Put(&bytes[28], flags << 24 | std::min<uint32_t>(trip, 0xffffff), 4);
    for (size_t i = 0; i < words.size(); i++)
    {
        Put(&bytes[32 + 4 * i], words[i], 4);
    }
    auto packet = Create<ns3::Packet>(bytes.data(), bytes.size());
    P4RackSwitch::SendPadded(m_cards[from], packet, MacOf(from), MacOf(to), 0x0800, OVERHEAD);
}

bool
Network::Hear(Ptr<NetDevice> device, Ptr<const ns3::Packet> packet, uint16_t, const Address&)
{
    auto bare = packet->Copy();
    P4RackSwitch::RemovePadding(bare);
    std::vector<uint8_t> bytes(bare->GetSize());
    bare->CopyData(bytes.data(), bytes.size());
    uint8_t flags = bytes[28] & 15;
    uint32_t trip = Get(&bytes[29], 3);
    uint32_t rate = Get(&bytes[32], 4);
    size_t index = Get(&bytes[40], 4);
    auto& flow = flows.at(index);
    if (!(flags & ACK))
    {
        if (flags & DATA)
        {
            flow.came++;
            if (flow.came == flow.pieces)
            {
                flow.done = Nanoseconds() - flow.start;
            }
        }
        Packet(HOSTS, flow.host, flags | ACK, trip, {WISH, rate, static_cast<uint32_t>(index), Get(&bytes[44], 4), Get(&bytes[48], 4)}, PORT, flow.port, 0);
        return true;
    }
    auto found = flow.flight.find(Get(&bytes[48], 4));
    NS_ABORT_MSG_IF(found == flow.flight.end(), "a packet was acknowledged twice");
    double sample = Nanoseconds() - found->second.first;
    flow.trip = flow.trip == 0 ? sample : flow.trip * 7 / 8 + sample / 8;
    flow.flying -= found->second.second;
    flow.flight.erase(found);
    flow.left -= flags & DATA ? 1 : 0;
    flow.rate = std::max<uint32_t>(Get(&bytes[36], 4), 1) * 1e3;
    Continue(index);
    return true;
}

void
Network::Continue(size_t index)
{
    auto& flow = flows[index];
    flow.timer.Cancel();
    while (flow.fresh < flow.pieces)
    {
        // Without room for another packet, the next acknowledgement continues.
        double window = 2 * flow.rate * flow.trip / 8e9;
        if (flow.flying > window && flow.flight.size() >= 3)
        {
            return;
        }
        uint64_t due = flow.paced + static_cast<uint64_t>(flow.pacedBytes * 8e9 / flow.rate);
        uint64_t ask = flow.sent + static_cast<uint64_t>(flow.trip);
        if (due <= Nanoseconds())
        {
            uint32_t data = std::min(PIECE, flow.bytes - flow.fresh * PIECE);
            flow.paced = Nanoseconds();
            flow.pacedBytes = 14 + HEADERS + data;
            Send(index, DATA, flow.fresh, data);
            flow.fresh++;
        }
        else if (ask < due && ask <= Nanoseconds())
        {
            Send(index, REF, 0, 0);
        }
        else
        {
            flow.timer = Simulator::Schedule(NanoSeconds(std::min(due, ask) - Nanoseconds()), &Network::Continue, this, index);
            return;
        }
    }
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc < 3)
    {
        std::cerr << "usage: rcp PROGRAM ENTRIES [MACRO...] < TRANSFERS" << std::endl;
        return 2;
    }
    Network network(argv[1], argv[2], std::vector<std::string>(argv + 3, argv + argc));
    Flow flow{};
    std::array<uint16_t, HOSTS> ports;
    ports.fill(FIRST_PORT);
    while (std::cin >> flow.host >> flow.start >> flow.bytes)
    {
        if (flow.host >= HOSTS || flow.bytes == 0)
        {
            std::cerr << "hosts are 0 to " << HOSTS - 1 << ", and a transfer has at least a byte" << std::endl;
            return 2;
        }
        flow.pieces = (flow.bytes + PIECE - 1) / PIECE;
        flow.port = ports[flow.host]++;
        network.flows.push_back(flow);
    }
    network.Run();
    bool complete = true;
    for (const auto& one : network.flows)
    {
        std::cout << one.done << "\n";
        complete &= one.done > 0;
    }
    Simulator::Destroy();
    return complete ? 0 : 1;
}
