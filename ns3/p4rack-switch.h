// SPDX-License-Identifier: GPL-2.0-only
#ifndef P4RACK_SWITCH_H
#define P4RACK_SWITCH_H

#include "p4rack.h"

#include "ns3/event-id.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/object.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace ns3
{

/**
 * A P4 program as the switch of a node.
 *
 *     auto tor = CreateObject<P4RackSwitch>();
 *     tor->Load("rcp.p4", {"EXACT=1"});
 *     tor->WriteFile("entries.stf");
 *     node->AggregateObject(tor);
 *     tor->AddPort(1, device);              // a SimpleNetDevice of the node, with a DataRate
 *
 * Frames that come over a port's device run through ingress, wait in the queue of their port, and run through egress when they leave it. The queue
 * belongs to the switch, which gives the device one frame at a time; it has eight priorities, of which the highest goes first.
 */
class P4RackSwitch : public Object
{
  public:
    static TypeId GetTypeId();
    P4RackSwitch();
    ~P4RackSwitch() override;

    /// Compiles a program with macros. Ends the simulation with a message if it has mistakes.
    void Load(const std::string& program, const std::vector<std::string>& defines = {});
    /// Writes the entries of a file, in any language of `p4rack run --entries`.
    void WriteFile(const std::string& path);
    /// Writes entries given as text.
    void Write(const std::string& entries);
    /// A cell of a register, by the register's control-plane name.
    uint64_t Register(const std::string& name, uint64_t index) const;

    /// Makes a device of the node the port with this number.
    void AddPort(uint32_t port, Ptr<NetDevice> device);

    /// Packets that did not fit into their queue.
    uint64_t GetDropped() const;
    /// The most packets that waited in the queue of a port.
    uint32_t GetLongest(uint32_t port) const;

    /// Puts a frame without its header of Ethernet on a device. With `overhead`, the device's time for it is that of at least 60 bytes and so many more.
    static void SendPadded(Ptr<NetDevice> device, Ptr<Packet> packet, Address from, Address to, uint16_t protocol, uint32_t overhead);
    /// Takes away the padding of SendPadded.
    static void RemovePadding(Ptr<Packet> packet);

  private:
    struct Waiting
    {
        p4r_packet* packet;
        uint64_t enqueued;
        uint32_t depth;
    };

    struct Port
    {
        Ptr<NetDevice> device;
        std::map<uint32_t, std::deque<Waiting>, std::greater<>> queues;
        uint32_t waiting{0};
        uint32_t longest{0};
        bool busy{false};
    };

    void DoDispose() override;
    void Hear(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address& from, const Address& to, NetDevice::PacketType type);
    /// Packets of ingress reach their queues after the delay.
    void Queue(const p4r_queued* queued, size_t n, Time after);
    void Enqueue(uint32_t port, uint32_t priority, p4r_packet* packet);
    void Transmit(uint32_t port);
    void Idle(uint32_t port);
    void Tick();
    void SetTimer();
    void Check(int status) const;

    p4r_switch* m_switch{nullptr};
    std::map<uint32_t, Port> m_ports;
    std::map<Ptr<NetDevice>, uint32_t> m_numbers;
    /// Packets that the switch has given out and not got back.
    std::map<p4r_packet*, bool> m_out;
    uint32_t m_limit;
    uint32_t m_overhead;
    Time m_delay;
    uint64_t m_dropped{0};
    EventId m_timer;
};

} // namespace ns3

#endif
