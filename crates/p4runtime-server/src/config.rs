//! Programs and pipeline configurations (P4Runtime 1.5, sections 7, 14 and 15).

use crate::configured::Configured;
use crate::replay::Replay;
use crate::server::{Server, no_program};
use crate::status::Status;
use crate::target::{Ahead, Builder};
use p4runtime_proto::Bytes;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, SetForwardingPipelineConfigRequest, Uint128, Update,
};
use p4runtime_store::Written;

/// A program that is about to run, with its entities.
pub struct Prepared<B: Builder> {
    pub(crate) new: Configured<B::Target>,
    /// True if a controller had saved the program.
    was_saved: bool,
    /// True if the values that the data plane has written to the running program are copied to the new one.
    pub(crate) takes_along: bool,
    /// Entries of the running program that must still be copied to the new one.
    pub(crate) replay: Option<Replay>,
}

impl<B: Builder> Prepared<B> {
    /// The device of the program.
    pub fn target(&self) -> &B::Target {
        &self.new.target
    }

    /// The same, to be changed.
    pub fn target_mut(&mut self) -> &mut B::Target {
        &mut self.new.target
    }

    /// A cursor over all entities of the program, in an order in which they can be written again.
    pub fn written(&self) -> Written {
        self.new.store.written()
    }

    /// Passes the next slice of the cursor to `out`.
    pub fn read_on(&self, written: &mut Written, out: &mut dyn FnMut(Entity)) -> Result<(), Status> {
        let mut room = crate::replay::SLICE;
        let read = self.new.store.read_written_some(written, &mut room, &self.new.target, out);
        read.map_err(|fault| unread(&fault))
    }

    /// Writes entities that devices have already, in numbers and in an order in which they can be written, instead of
    /// the program's own entries that are not constant.
    pub fn adopt(&mut self, entities: Vec<Entity>) -> Result<(), Status> {
        let names = self.new.names.clone();
        self.new.replay_all(entities, &names)
    }

    /// Applies updates of no controller, with numbers for strings, as a whole or not at all.
    pub fn fill(&mut self, updates: &[Update]) -> Result<(), Status> {
        self.new.fill(updates)
    }

    /// True if an entity has a value that is a string on the controller's side.
    pub fn says_strings(&self, entity: &Entity) -> bool {
        self.new.names.says_strings(entity)
    }
}

impl<B: Builder> Server<B> {
    /// Runs a program before any controller asks for one.
    pub fn start(&mut self, config: ForwardingPipelineConfig) -> Result<(), Status> {
        let new = self.prepare(config)?;
        self.install(new);
        Ok(())
    }

    /// Builds a program without entities of controllers.
    pub fn prepare(&self, config: ForwardingPipelineConfig) -> Result<Prepared<B>, Status> {
        let wanted = self.wanted(&config)?;
        let built = self.builder.build(&wanted)?;
        let new = Configured::new(config, wanted.p4_device_config, built, self.is_noted);
        Ok(Prepared { new, was_saved: false, takes_along: false, replay: None })
    }

    /// The configuration from which a device is built: an earlier one, if this one keeps the running program.
    fn wanted(&self, config: &ForwardingPipelineConfig) -> Result<ForwardingPipelineConfig, Status> {
        let mut wanted = config.clone();
        if self.builder.keeps(config) {
            let Some(running) = &self.running else {
                let why = "there is no program to keep: the switch must be started with one";
                return Err(Status::new(Code::FailedPrecondition, why));
            };
            wanted.p4_device_config.clone_from(&running.source);
        }
        Ok(wanted)
    }

    /// The running program, built anew without its entities.
    pub fn prepare_empty(&self) -> Result<Prepared<B>, Status> {
        let running = self.running.as_ref().ok_or_else(no_program)?;
        self.prepare(running.config.clone())
    }

    /// Drops a saved program that was not committed.
    pub fn forget_saved(&mut self) {
        self.saved = None;
    }

    /// Makes the saved program uncommittable, but keeps it: its controller's writes still go to it and not to the
    /// running program.
    pub fn spoil_saved(&mut self) {
        if let Some(saved) = &mut self.saved {
            saved.is_spoilt = true;
        }
    }

    /// Stops the running program.
    pub fn stop(&mut self) {
        (self.running, self.saved) = (None, None);
        (self.writing, self.reading, self.replacing) = (None, None, None);
    }

    /// Slow part of a `SetForwardingPipelineConfig`, for another thread before the request is made; `None` if the
    /// request is quick, or its sender may not make it.
    pub fn ahead(&self, request: &SetForwardingPipelineConfigRequest) -> Option<Ahead> {
        self.may_set_config(request).ok()?;
        self.builder.ahead(&self.wanted(request.config.as_ref()?).ok()?)
    }

    /// The slow part of [`prepare_again`](Server::prepare_again), likewise.
    pub fn ahead_again(&self) -> Option<Ahead> {
        self.builder.ahead(&self.config_again()?)
    }

    /// The configuration from which the running program can be built again.
    pub fn config_again(&self) -> Option<ForwardingPipelineConfig> {
        self.wanted(&self.running.as_ref()?.config).ok()
    }

    /// [`set_config`](Server::set_config), except that a program that will run does not run yet: see [`replay`](Server::replay),
    /// [`install`](Server::install) and [`give_back`](Server::give_back).
    pub fn prepare_config(
        &mut self,
        request: SetForwardingPipelineConfigRequest,
    ) -> Result<Option<Prepared<B>>, Status> {
        self.may_set_config(&request)?;
        let action = request.action();
        if action == Action::Commit {
            if request.config.is_some() {
                return Err(Status::new(
                    Code::InvalidArgument,
                    "COMMIT uses the saved config: leave `config` unset",
                ));
            }
            return self.prepare_saved().map(Some);
        }
        let Some(config) = request.config else {
            return Err(Status::new(Code::InvalidArgument, "the config is missing"));
        };
        if action == Action::Unspecified {
            return Err(Status::new(Code::InvalidArgument, "the action is missing"));
        }
        if config.p4info.is_none() {
            let why =
                "the config has no P4Info (section 7): send the program's, as `p4rack p4info` writes it";
            return Err(Status::new(Code::InvalidArgument, why));
        }
        let mut prepared = self.prepare(config)?;
        if let Some(why) = prepared.new.store.catalog().unmet_properties() {
            return Err(Status::new(Code::InvalidArgument, format!("a platform property is not met: {why}")));
        }
        if let Some(why) = prepared.new.store.catalog().unread_restrictions().first() {
            return Err(Status::new(Code::InvalidArgument, format!("a restriction cannot be read: {why}")));
        }
        match action {
            Action::VerifyAndSave => self.saved = Some(self.beside_running(prepared.new)?),
            Action::VerifyAndCommit => return Ok(Some(prepared)),
            Action::ReconcileAndCommit => {
                prepared.replay = self.running.as_ref().map(|running| Replay::of(&running.store));
                prepared.takes_along = true;
                return Ok(Some(prepared));
            }
            // To verify is to prepare: the program is dropped.
            Action::Verify | Action::Commit | Action::Unspecified => {}
        }
        Ok(None)
    }

    /// Checks that a saved program and the running one together keep to the limit on memory.
    fn beside_running(&self, mut new: Configured<B::Target>) -> Result<Configured<B::Target>, Status> {
        let running = self.running.as_ref().map_or(0, |running| running.store.taken());
        let left = new.memory.saturating_sub(running);
        if new.store.taken() > left {
            let why = format!(
                "the running program takes {running} bytes of memory, the new one {} at least, and the limit for both is {} bytes: \
                 commit the new program at once, or restart the switch with a larger `--max-memory`",
                new.store.taken(),
                new.memory
            );
            return Err(Status::new(Code::ResourceExhausted, why));
        }
        new.store.set_limit(left);
        Ok(new)
    }

    /// Builds the running program anew with the entities that controllers have written. Values of data planes are copied or,
    /// if `forgets`, reset.
    pub fn prepare_again(&self, forgets: bool) -> Result<Prepared<B>, Status> {
        let running = self.running.as_ref().ok_or_else(no_program)?;
        let mut prepared = self.prepare(running.config.clone())?;
        prepared.replay = Some(Replay::of(&running.store));
        prepared.takes_along = !forgets;
        Ok(prepared)
    }

    /// The builder of devices.
    pub fn builder(&mut self) -> &mut B {
        &mut self.builder
    }

    /// Refuses a controller that is not the primary.
    pub fn may_steer(&self, election: Option<&Uint128>) -> Result<(), Status> {
        self.arbitration.authorize("", election)
    }

    /// Refuses a configuration for another device, or by a controller that is not the primary.
    pub fn may_set_config(&self, request: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.check_device(request.device_id)?;
        self.arbitration.authorize(&request.role, request.election_id.as_ref())
    }

    /// Runs a prepared program; a saved one is dropped.
    pub fn install(&mut self, prepared: Prepared<B>) {
        self.digests = crate::digests::Digests::default();
        self.configs += 1;
        self.is_anew = true;
        let old = [self.running.replace(prepared.new), self.saved.take()];
        old.into_iter().flatten().for_each(|old| self.builder.retire(Box::new(old)));
    }

    /// Takes back a prepared program that does not run: if it was saved, it is saved again.
    pub fn give_back(&mut self, prepared: Prepared<B>) {
        if prepared.was_saved {
            // Both programs fitted before.
            self.saved = self.beside_running(prepared.new).ok();
        }
    }

    /// All entities that controllers have written to the running program, in an order in which they can be written again.
    pub fn written(&self) -> Result<Vec<Entity>, Status> {
        let Some(running) = &self.running else { return Ok(vec![]) };
        let mut entities = vec![];
        let read = running.store.read_written(&running.target, &mut |entity| entities.push(entity));
        read.map_err(|fault| unread(&fault))?;
        Ok(entities)
    }

    fn prepare_saved(&mut self) -> Result<Prepared<B>, Status> {
        match self.saved.take() {
            Some(saved) if saved.is_spoilt => {
                let why = "frames were held for the saved config and have been admitted since: save the config again";
                Err(Status::new(Code::Aborted, why))
            }
            Some(mut new) => {
                new.store.set_limit(new.memory);
                Ok(Prepared { new, was_saved: true, takes_along: false, replay: None })
            }
            None => {
                let why = "there is no saved config: use VERIFY_AND_SAVE first";
                Err(Status::new(Code::NotFound, why))
            }
        }
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
                p4_device_config: if device { config.p4_device_config.clone() } else { Bytes::new() },
                cookie: config.cookie,
            }
        };
        let config = self.running.as_ref().map(|running| shown(&running.config));
        Ok(GetForwardingPipelineConfigResponse { config })
    }
}

pub(crate) fn unread(fault: &p4runtime_store::Fault) -> Status {
    Status::new(Code::Internal, format!("the entries cannot be read: {fault}"))
}
