//! Multicast groups as BMv2's packet replication engine has them: groups of nodes, nodes of ports and link aggregation groups.

use crate::fill::Write;
use crate::switch::Switch;
use dataplane_api::{EntryError, Port};

impl Switch {
    /// Makes a multicast group without members, if it is not there.
    pub fn multicast_group_create(&mut self, group: u32) {
        self.core.replication.create_group(group);
        self.note_group(group);
    }

    /// Removes a multicast group. Its nodes stay, and are in no group then.
    pub fn multicast_group_destroy(&mut self, group: u32) -> Result<(), EntryError> {
        self.core.replication.destroy_group(group)?;
        self.forget_noted(|write| matches!(write, Write::Multicast { group: of, .. } if *of == group));
        Ok(())
    }

    /// Makes a multicast node and gives its handle, the smallest that is free. A node sends a copy to each port, and to one port
    /// of each link aggregation group.
    pub fn multicast_node_create(&mut self, rid: u16, ports: Vec<Port>, lags: Vec<u32>) -> usize {
        self.core.replication.create_node(rid, ports, lags)
    }

    /// Sets where a node sends copies.
    pub fn multicast_node_update(
        &mut self,
        node: usize,
        ports: Vec<Port>,
        lags: Vec<u32>,
    ) -> Result<(), EntryError> {
        let group = self.core.replication.update_node(node, ports, lags)?;
        group.into_iter().for_each(|group| self.note_group(group));
        Ok(())
    }

    /// Adds a node to a group, behind those it has. The group was created, and the node is in no other.
    pub fn multicast_node_associate(&mut self, group: u32, node: usize) -> Result<(), EntryError> {
        self.core.replication.associate(group, node)?;
        self.note_group(group);
        Ok(())
    }

    /// Takes a node from its group.
    pub fn multicast_node_dissociate(&mut self, group: u32, node: usize) -> Result<(), EntryError> {
        self.core.replication.dissociate(group, node)?;
        self.note_group(group);
        Ok(())
    }

    /// Removes a node.
    pub fn multicast_node_destroy(&mut self, node: usize) -> Result<(), EntryError> {
        let group = self.core.replication.destroy_node(node)?;
        group.into_iter().for_each(|group| self.note_group(group));
        Ok(())
    }

    /// Sets the ports of a link aggregation group. As in BMv2 all packets take the same one of them.
    pub fn lag_set(&mut self, lag: u32, ports: Vec<Port>) -> Result<(), EntryError> {
        let groups = self.core.replication.set_lag(lag, ports)?;
        groups.into_iter().for_each(|group| self.note_group(group));
        Ok(())
    }

    fn note_group(&mut self, group: u32) {
        let members = self.core.replication.members(group);
        self.note(Write::Multicast { group, members });
    }
}
