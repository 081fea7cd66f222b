//! `SetForwardingPipelineConfig` of an app's controller. The program is that of the rack's file; pushing it removes the app's entries.

use super::Event;
use super::views::{Made, Views};
use base_time::Time;
use controller::{Call, Reply, Ticket};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, DigestEntry, Entity,
    ForwardingPipelineConfig, MulticastGroupEntry, PacketReplicationEngineEntry, ReadRequest,
    SetForwardingPipelineConfigRequest, TableEntry, Update, WriteRequest,
    packet_replication_engine_entry::Type as Replication, update,
};
use p4runtime_server::{Pieces, Status};

impl Views {
    pub(super) fn set_config(
        &mut self,
        now: Time,
        ticket: Ticket,
        at: usize,
        request: &SetForwardingPipelineConfigRequest,
    ) -> Vec<Event> {
        let checked = self.check_config(at, request);
        let is_anew = matches!(checked, Ok(Action::VerifyAndCommit));
        if let (Ok(Action::VerifyAndCommit | Action::ReconcileAndCommit), Some(config)) =
            (&checked, &request.config)
        {
            let own = self.views[at].config.p4info.take();
            let config = ForwardingPipelineConfig { p4info: config.p4info.clone().or(own), ..config.clone() };
            self.views[at].config = config;
        }
        if !is_anew {
            return vec![Event::Reply(ticket, Reply::Done(checked.map(drop)))];
        }
        let request =
            ReadRequest { device_id: self.device, entities: everything(), ..ReadRequest::default() };
        let own = self.ticket();
        self.make(now, own, Made::Find(at, ticket), Call::Read(request))
    }

    fn check_config(
        &self,
        at: usize,
        request: &SetForwardingPipelineConfigRequest,
    ) -> Result<Action, Status> {
        let refuse = |code, why: &str| Err(Status::new(code, why));
        self.inner.answers().may_set_config(&self.config_head(at, request))?;
        let action = request.action();
        match action {
            Action::Unspecified => return refuse(Code::InvalidArgument, "the request has no action"),
            Action::VerifyAndSave | Action::Commit => {
                let why = "an app of a rack runs the program of the rack's file, and saves none: use VERIFY_AND_COMMIT or RECONCILE_AND_COMMIT";
                return refuse(Code::Unimplemented, why);
            }
            Action::Verify | Action::VerifyAndCommit | Action::ReconcileAndCommit => {}
        }
        match &request.config {
            Some(config) => self.views[at].check(config).map(|()| action),
            None => refuse(Code::InvalidArgument, "the request has no config"),
        }
    }

    pub(super) fn config_head(
        &self,
        at: usize,
        request: &SetForwardingPipelineConfigRequest,
    ) -> SetForwardingPipelineConfigRequest {
        SetForwardingPipelineConfigRequest {
            device_id: self.device,
            role: self.views[at].role(&request.role),
            election_id: request.election_id,
            ..SetForwardingPipelineConfigRequest::default()
        }
    }

    /// Removes what a read has found of an app, but for the entries of its program, which come back if they are gone.
    pub(super) fn remove(&mut self, now: Time, at: usize, ticket: Ticket, found: &Pieces) -> Vec<Event> {
        let view = &self.views[at];
        let mut there = vec![];
        let mut updates = vec![];
        for entity in found.entities() {
            if !view.raise(&mut entity.clone()) || is_const(&entity) {
                continue;
            }
            if view.initial.contains(&entity) {
                there.push(entity);
                continue;
            }
            updates.push(Update { r#type: update::Type::Delete as i32, entity: Some(entity) });
        }
        let gone = view.initial.iter().filter(|entity| !there.contains(entity) && !is_const(entity));
        let gone = gone.filter(|entity| !is_default(entity)).cloned();
        updates
            .extend(gone.map(|entity| Update { r#type: update::Type::Insert as i32, entity: Some(entity) }));
        let request = WriteRequest {
            device_id: self.device,
            updates,
            atomicity: Atomicity::ContinueOnError as i32,
            ..WriteRequest::default()
        };
        let own = self.ticket();
        self.make(now, own, Made::Remove(ticket), Call::Operate(Box::new(request)))
    }
}

/// Queries for all that controllers write of an app, in an order in which it can be removed.
fn everything() -> Vec<Entity> {
    let replicated =
        |ty| Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(ty) });
    [
        Kind::TableEntry(TableEntry::default()),
        Kind::ActionProfileGroup(ActionProfileGroup::default()),
        Kind::ActionProfileMember(ActionProfileMember::default()),
        replicated(Replication::CloneSessionEntry(CloneSessionEntry::default())),
        replicated(Replication::MulticastGroupEntry(MulticastGroupEntry::default())),
        Kind::DigestEntry(DigestEntry::default()),
    ]
    .map(|kind| Entity { entity: Some(kind) })
    .to_vec()
}

fn is_const(entity: &Entity) -> bool {
    matches!(&entity.entity, Some(Kind::TableEntry(entry)) if entry.is_const)
}

fn is_default(entity: &Entity) -> bool {
    matches!(&entity.entity, Some(Kind::TableEntry(entry)) if entry.is_default_action)
}
