// SPDX-License-Identifier: GPL-2.0-only
#ifndef P4RACK_QUEUE_DISC_H
#define P4RACK_QUEUE_DISC_H

#include "p4rack.h"

#include "ns3/mac48-address.h"
#include "ns3/queue-disc.h"

#include <map>
#include <string>

namespace ns3
{

/**
 * A P4 program as the queue discipline of a device, for IPv4.
 *
 * A packet runs through ingress before it is enqueued and through egress when it is dequeued, in a frame of Ethernet to the MAC address `Destination`. The
 * port that the program chooses is not looked at; a packet that it drops is dropped. Fields of the IPv4 header and bytes after it may change.
 */
class P4RackQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId();
    P4RackQueueDisc();
    ~P4RackQueueDisc() override;

    /// A cell of a register, by the register's control-plane name.
    uint64_t Register(const std::string& name, uint64_t index) const;
    /// Packets whose ECN bits say after the program, and not before it, that they met congestion.
    uint64_t GetMarked() const;

    static constexpr const char* PROGRAM_DROP = "Dropped by the program";
    static constexpr const char* LIMIT_EXCEEDED_DROP = "Queue disc limit exceeded";

  private:
    struct Waiting
    {
        p4r_packet* packet;
        uint64_t enqueued;
        uint32_t depth;
    };

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;
    void DoDispose() override;
    void Check(int status) const;

    std::string m_program;
    std::string m_entries;
    Mac48Address m_destination;
    uint32_t m_port;
    p4r_switch* m_switch{nullptr};
    std::map<Ptr<QueueDiscItem>, Waiting> m_waiting;
    uint64_t m_marked{0};
};

} // namespace ns3

#endif
