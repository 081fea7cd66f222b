// SPDX-License-Identifier: GPL-2.0-only
#include "p4rack-switch.h"

#include "ns3/data-rate.h"
#include "ns3/fatal-error.h"
#include "ns3/mac48-address.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/tag.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(P4RackSwitch);

namespace
{

constexpr uint32_t ETHERNET = 14;

/// How many bytes at the end of a packet stand for what a link carries beyond it.
class PaddingTag : public Tag
{
  public:
    PaddingTag(uint32_t bytes = 0)
        : m_bytes(bytes)
    {
    }

    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::P4RackPaddingTag").SetParent<Tag>().AddConstructor<PaddingTag>();
        return id;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return 4;
    }

    void Serialize(TagBuffer to) const override
    {
        to.WriteU32(m_bytes);
    }

    void Deserialize(TagBuffer from) override
    {
        m_bytes = from.ReadU32();
    }

    void Print(std::ostream& to) const override
    {
        to << m_bytes;
    }

    uint32_t m_bytes;
};

NS_OBJECT_ENSURE_REGISTERED(PaddingTag);

uint64_t
Nanoseconds()
{
    return Simulator::Now().GetNanoSeconds();
}

} // namespace

TypeId
P4RackSwitch::GetTypeId()
{
    static TypeId id =
        TypeId("ns3::P4RackSwitch")
            .SetParent<Object>()
            .AddConstructor<P4RackSwitch>()
            .AddAttribute("Limit",
                          "Packets that may wait for a port.",
                          UintegerValue(256),
                          MakeUintegerAccessor(&P4RackSwitch::m_limit),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("Delay",
                          "Time between the arrival of a frame and its place in a queue.",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&P4RackSwitch::m_delay),
                          MakeTimeChecker())
            .AddAttribute("Overhead",
                          "Bytes that a frame takes on a link beyond its own: 24 of Ethernet. 0: devices get packets without padding, as hosts of ns-3 send them.",
                          UintegerValue(0),
                          MakeUintegerAccessor(&P4RackSwitch::m_overhead),
                          MakeUintegerChecker<uint32_t>());
    return id;
}

P4RackSwitch::P4RackSwitch() = default;

P4RackSwitch::~P4RackSwitch() = default;

void
P4RackSwitch::DoDispose()
{
    m_timer.Cancel();
    for (const auto& [packet, out] : m_out)
    {
        p4r_drop(m_switch, packet);
    }
    m_out.clear();
    m_ports.clear();
    m_numbers.clear();
    p4r_close(m_switch);
    m_switch = nullptr;
    Object::DoDispose();
}

void
P4RackSwitch::Load(const std::string& program, const std::vector<std::string>& defines)
{
    std::vector<const char*> macros;
    for (const auto& define : defines)
    {
        macros.push_back(define.c_str());
    }
    std::vector<char> why(65536);
    p4r_close(m_switch);
    m_switch = p4r_load(program.c_str(), macros.data(), macros.size(), 1, why.data(), why.size());
    if (!m_switch)
    {
        NS_FATAL_ERROR(why.data());
    }
}

void
P4RackSwitch::Check(int status) const
{
    if (status != 0)
    {
        NS_FATAL_ERROR(p4r_error(m_switch));
    }
}

void
P4RackSwitch::WriteFile(const std::string& path)
{
    Check(p4r_entries(m_switch, path.c_str()));
}

void
P4RackSwitch::Write(const std::string& entries)
{
    Check(p4r_write(m_switch, entries.c_str()));
}

uint64_t
P4RackSwitch::Register(const std::string& name, uint64_t index) const
{
    uint64_t value = 0;
    Check(p4r_register(m_switch, name.c_str(), index, &value));
    return value;
}

void
P4RackSwitch::AddPort(uint32_t port, Ptr<NetDevice> device)
{
    DataRateValue rate;
    if (!device->SupportsSendFrom() || !device->GetAttributeFailSafe("DataRate", rate) || rate.Get().GetBitRate() == 0)
    {
        NS_FATAL_ERROR("a port of a switch needs a device that sends frames of others and has a DataRate, as SimpleNetDevice");
    }
    m_ports[port].device = device;
    m_numbers[device] = port;
    device->GetNode()->RegisterProtocolHandler(MakeCallback(&P4RackSwitch::Hear, this), 0, device, true);
}

uint64_t
P4RackSwitch::GetDropped() const
{
    return m_dropped;
}

uint32_t
P4RackSwitch::GetLongest(uint32_t port) const
{
    auto found = m_ports.find(port);
    return found == m_ports.end() ? 0 : found->second.longest;
}

void
P4RackSwitch::SendPadded(Ptr<NetDevice> device, Ptr<Packet> packet, Address from, Address to, uint16_t protocol, uint32_t overhead)
{
    if (overhead > 0)
    {
        uint32_t frame = std::max<uint32_t>(packet->GetSize() + ETHERNET, 60);
        uint32_t padding = frame + overhead - packet->GetSize();
        packet->AddPacketTag(PaddingTag(padding));
        packet->AddPaddingAtEnd(padding);
    }
    device->SendFrom(packet, from, to, protocol);
}

void
P4RackSwitch::RemovePadding(Ptr<Packet> packet)
{
    PaddingTag padding;
    if (packet->RemovePacketTag(padding))
    {
        packet->RemoveAtEnd(padding.m_bytes);
    }
}

void
P4RackSwitch::Hear(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address& from, const Address& to, NetDevice::PacketType)
{
    auto bare = packet->Copy();
    RemovePadding(bare);
    std::vector<uint8_t> frame(ETHERNET + bare->GetSize());
    Mac48Address::ConvertFrom(to).CopyTo(frame.data());
    Mac48Address::ConvertFrom(from).CopyTo(frame.data() + 6);
    frame[12] = protocol >> 8;
    frame[13] = protocol & 0xff;
    bare->CopyData(frame.data() + ETHERNET, bare->GetSize());
    const p4r_queued* queued;
    size_t n;
    Check(p4r_ingress(m_switch, m_numbers.at(device), frame.data(), frame.size(), Nanoseconds(), &queued, &n));
    Queue(queued, n, m_delay);
    SetTimer();
}

void
P4RackSwitch::Queue(const p4r_queued* queued, size_t n, Time after)
{
    // Calls of the switch below make new results: this one is read first.
    std::vector<p4r_queued> all(queued, queued + n);
    for (const auto& one : all)
    {
        m_out[one.packet] = true;
        if (after.IsZero())
        {
            Enqueue(one.port, one.priority, one.packet);
        }
        else
        {
            Simulator::Schedule(after, &P4RackSwitch::Enqueue, this, one.port, one.priority, one.packet);
        }
    }
}

void
P4RackSwitch::Enqueue(uint32_t number, uint32_t priority, p4r_packet* packet)
{
    auto found = m_ports.find(number);
    if (found == m_ports.end() || found->second.waiting >= m_limit)
    {
        m_dropped++;
        m_out.erase(packet);
        p4r_drop(m_switch, packet);
        return;
    }
    Port& port = found->second;
    port.queues[priority].push_back({packet, Nanoseconds(), port.waiting});
    port.waiting++;
    port.longest = std::max(port.longest, port.waiting);
    if (!port.busy)
    {
        Transmit(number);
    }
}

void
P4RackSwitch::Transmit(uint32_t number)
{
    Port& port = m_ports.at(number);
    while (!port.busy && port.waiting > 0)
    {
        auto queue = std::find_if(port.queues.begin(), port.queues.end(), [](const auto& one) { return !one.second.empty(); });
        Waiting first = queue->second.front();
        queue->second.pop_front();
        port.waiting--;
        p4r_stay stay{first.enqueued, first.depth, port.waiting};
        p4r_result result;
        m_out.erase(first.packet);
        Check(p4r_egress(m_switch, first.packet, &stay, Nanoseconds(), &result));
        if (result.frames > 0 && result.frame->length >= ETHERNET)
        {
            const uint8_t* bytes = result.frame->bytes;
            Mac48Address to;
            Mac48Address from;
            to.CopyFrom(bytes);
            from.CopyFrom(bytes + 6);
            auto packet = Create<Packet>(bytes + ETHERNET, result.frame->length - ETHERNET);
            uint16_t protocol = bytes[12] << 8 | bytes[13];
            port.busy = true;
            SendPadded(port.device, packet, from, to, protocol, m_overhead);
            DataRateValue rate;
            port.device->GetAttribute("DataRate", rate);
            Simulator::Schedule(rate.Get().CalculateBytesTxTime(packet->GetSize()), &P4RackSwitch::Idle, this, number);
        }
        Queue(result.queued, result.n_queued, Time(0));
        SetTimer();
    }
}

void
P4RackSwitch::Idle(uint32_t number)
{
    auto found = m_ports.find(number);
    if (found != m_ports.end())
    {
        found->second.busy = false;
        Transmit(number);
    }
}

void
P4RackSwitch::SetTimer()
{
    uint64_t at = p4r_deadline(m_switch);
    m_timer.Cancel();
    if (at != UINT64_MAX)
    {
        m_timer = Simulator::Schedule(NanoSeconds(at > Nanoseconds() ? at - Nanoseconds() : 0), &P4RackSwitch::Tick, this);
    }
}

void
P4RackSwitch::Tick()
{
    const p4r_queued* queued;
    size_t n;
    Check(p4r_tick(m_switch, Nanoseconds(), &queued, &n));
    Queue(queued, n, Time(0));
    SetTimer();
}

} // namespace ns3
