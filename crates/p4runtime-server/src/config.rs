//! Programs and how they come in (P4Runtime 1.5, sections 7, 14 and 15).

use crate::packet_io::PacketIo;
use crate::server::{Server, no_program};
use crate::status::Status;
use crate::target::{Builder, Built, Target};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, SetForwardingPipelineConfigRequest, Uint128, Update, entity, update,
};
use p4runtime_store::{Store, making};

/// A program with what the control plane has written to it.
pub(crate) struct Configured<T> {
    pub(crate) config: ForwardingPipelineConfig,
    pub(crate) store: Store,
    pub(crate) packet_io: PacketIo,
    pub(crate) target: T,
}

/// What ran before a program was committed, with what was written to it.
pub struct Replaced<B: Builder> {
    running: Option<Configured<B::Target>>,
    saved: Option<Configured<B::Target>>,
}

impl<T: Target> Configured<T> {
    /// Of a device that was just built.
    fn new(config: ForwardingPipelineConfig, built: Built<T>) -> Configured<T> {
        let mut store = Store::new(built.info.clone());
        for update in &built.initial {
            // What P4Info does not describe (a hidden action) cannot be said, and is not listed.
            let _ = store.load_initial(update);
        }
        Configured {
            packet_io: PacketIo::new(&built.info),
            config: ForwardingPipelineConfig { p4info: Some((*built.info).clone()), ..config },
            store,
            target: built.target,
        }
    }

    /// Does again what a controller had written to another program, instead of the program's own entries that are not
    /// constant.
    fn replay(&mut self, entities: Vec<Entity>) -> Result<(), Status> {
        let refuse = |fault: Box<p4runtime_store::Fault>| {
            Status::new(
                Code::InvalidArgument,
                format!("what was written does not fit the new program: {fault}"),
            )
        };
        let mut own = vec![];
        let mut take = |entity: Entity| own.push(entity);
        self.store.read_written(&self.target, &mut take).map_err(refuse)?;
        own.retain(
            |entity| matches!(&entity.entity, Some(entity::Entity::TableEntry(e)) if !e.is_default_action),
        );
        let drop_own = own.into_iter().map(|entity| (update::Type::Delete, entity));
        for (how, entity) in drop_own.chain(entities.into_iter().map(|entity| (making(&entity), entity))) {
            let update = Update { r#type: how as i32, entity: Some(entity) };
            for change in self.store.plan(&update).map_err(refuse)? {
                self.target.apply(self.store.catalog(), &change).map_err(refuse)?;
                self.store.commit(change, None);
            }
        }
        Ok(())
    }
}

impl<B: Builder> Server<B> {
    /// Runs a program before any controller asks for one. What ran comes back.
    pub fn start(&mut self, config: ForwardingPipelineConfig) -> Result<Replaced<B>, Status> {
        let built = self.builder.build(&config)?;
        Ok(self.install(Configured::new(config, built)))
    }

    /// Drops what was saved and not committed.
    pub fn forget_saved(&mut self) {
        self.saved = None;
    }

    /// Runs nothing any more.
    pub fn stop(&mut self) {
        (self.running, self.saved) = (None, None);
    }

    /// The RPC `SetForwardingPipelineConfig`. What fails changes nothing.
    pub fn set_config(&mut self, request: SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.replace_config(request).map(drop)
    }

    /// The same; if the program that runs is another one now, what ran comes back.
    pub fn replace_config(
        &mut self,
        request: SetForwardingPipelineConfigRequest,
    ) -> Result<Option<Replaced<B>>, Status> {
        self.may_set_config(&request)?;
        let action = request.action();
        if action == Action::Commit {
            if request.config.is_some() {
                return Err(Status::new(
                    Code::InvalidArgument,
                    "COMMIT takes the saved config: leave it unset",
                ));
            }
            return self.commit_saved().map(Some);
        }
        let Some(config) = request.config else {
            return Err(Status::new(Code::InvalidArgument, "the config is missing"));
        };
        if action == Action::Unspecified {
            return Err(Status::new(Code::InvalidArgument, "the action is missing"));
        }
        let built = self.builder.build(&config)?;
        let mut new = Configured::new(config, built);
        if let Some(why) = new.store.catalog().unread_restrictions().first() {
            return Err(Status::new(Code::InvalidArgument, format!("a restriction cannot be read: {why}")));
        }
        match action {
            Action::VerifyAndSave => self.saved = Some(new),
            Action::VerifyAndCommit => return Ok(Some(self.install(new))),
            Action::ReconcileAndCommit => {
                if let Some(running) = &self.running {
                    new.replay(written(running)?)?;
                }
                return Ok(Some(self.install(new)));
            }
            Action::Verify | Action::Commit | Action::Unspecified => {}
        }
        Ok(None)
    }

    /// Builds the program that runs anew, with what controllers have written. What data planes have written goes with it, or, if
    /// `forgets`, begins anew. What ran comes back.
    pub fn renew(&mut self, forgets: bool) -> Result<Replaced<B>, Status> {
        let running = self.running.as_ref().ok_or_else(no_program)?;
        let mut entities = written(running)?;
        if forgets {
            entities.retain_mut(|entity| match &mut entity.entity {
                Some(
                    entity::Entity::CounterEntry(_)
                    | entity::Entity::DirectCounterEntry(_)
                    | entity::Entity::RegisterEntry(_),
                ) => false,
                Some(entity::Entity::TableEntry(entry)) => {
                    entry.counter_data = None;
                    true
                }
                _ => true,
            });
        }
        let config = running.config.clone();
        let built = self.builder.build(&config)?;
        let mut new = Configured::new(config, built);
        new.replay(entities)?;
        Ok(self.install(new))
    }

    /// Who makes devices of configurations.
    pub fn builder(&mut self) -> &mut B {
        &mut self.builder
    }

    /// Refuses a controller that is not the primary.
    pub fn may_steer(&self, election: Option<&Uint128>) -> Result<(), Status> {
        self.arbitration.authorize("", election)
    }

    /// Refuses a configuration of another device, or by somebody who is not the primary.
    pub fn may_set_config(&self, request: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.check_device(request.device_id)?;
        self.arbitration.authorize(&request.role, request.election_id.as_ref())
    }

    /// Puts back what a program has replaced.
    pub fn put_back(&mut self, replaced: Replaced<B>) {
        self.running = replaced.running;
        self.saved = replaced.saved;
    }

    /// All that a controller has written to the program that runs, in an order in which it can be written again.
    pub fn written(&self) -> Result<Vec<Entity>, Status> {
        self.running.as_ref().map_or(Ok(vec![]), written)
    }

    fn commit_saved(&mut self) -> Result<Replaced<B>, Status> {
        match self.saved.take() {
            Some(saved) => Ok(self.install(saved)),
            None => {
                let why = "there is no saved config: VERIFY_AND_SAVE comes first";
                Err(Status::new(Code::NotFound, why))
            }
        }
    }

    fn install(&mut self, new: Configured<B::Target>) -> Replaced<B> {
        self.digests = crate::digests::Digests::default();
        self.configs += 1;
        Replaced { running: self.running.replace(new), saved: self.saved.take() }
    }

    /// The RPC `GetForwardingPipelineConfig`.
    pub fn get_config(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        self.check_device(request.device_id)?;
        let shown = |config: &ForwardingPipelineConfig| {
            let (info, device) = match request.response_type() {
                ResponseType::All => (true, true),
                ResponseType::CookieOnly => (false, false),
                ResponseType::P4infoAndCookie => (true, false),
                ResponseType::DeviceConfigAndCookie => (false, true),
            };
            ForwardingPipelineConfig {
                p4info: config.p4info.clone().filter(|_| info),
                p4_device_config: if device { config.p4_device_config.clone() } else { vec![] },
                cookie: config.cookie,
            }
        };
        let config = self.running.as_ref().map(|running| shown(&running.config));
        Ok(GetForwardingPipelineConfigResponse { config })
    }
}

/// All that a controller has written, what others name first.
fn written<T: Target>(of: &Configured<T>) -> Result<Vec<Entity>, Status> {
    let mut entities = vec![];
    of.store
        .read_written(&of.target, &mut |entity| entities.push(entity))
        .map_err(|fault| Status::new(Code::Internal, format!("what was written cannot be read: {fault}")))?;
    Ok(entities)
}
