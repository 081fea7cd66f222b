//! The state of a switch, read to be kept in a file and written back: everything that P4Runtime can read and write.
//!
//! A state is written to a program that is saved beside the running one, and committed at the end: either the switch has all of it, or it goes
//! on as before.

use crate::generated::p4_runtime_client::P4RuntimeClient;
use crate::operator::{Operator, OperatorError, refused};
use crate::secret::Badge;
use controller::{Kinds, everything_held};
use p4runtime_proto::binary_size;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate,
    ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest, StreamMessageRequest,
    StreamMessageResponse, TableEntry, Uint128, Update, WriteRequest, entity::Entity as Kind,
    stream_message_request::Update as Said, stream_message_response::Update as ResponseUpdate, update::Type,
};
use p4runtime_proto::p4rack::v1::SavedState;
use p4runtime_proto::p4rack::v1::steer_request::{ForgetSaved, What};
use p4runtime_store::{is_unwritten, making};
use state_journal::FORMAT;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

/// Limits on a `Write`: it stays below what servers accept by default.
const UPDATES: usize = 4096;
const BYTES: usize = 16 << 20;

type Client = P4RuntimeClient<InterceptedService<Channel, Badge>>;

impl Operator {
    /// The state of the switch. Frames may pass meanwhile: entries are those of one moment, while counters, registers and memories are read
    /// one after the other.
    pub fn save(&mut self) -> Result<SavedState, OperatorError> {
        let saved: Result<SavedState, Status> = self.runtime.block_on(async {
            let request = GetForwardingPipelineConfigRequest {
                response_type: ResponseType::All as i32,
                ..GetForwardingPipelineConfigRequest::default()
            };
            let config = self.switch.get_forwarding_pipeline_config(request).await?.into_inner().config;
            let request = ReadRequest { entities: everything_held(Kinds::All), ..ReadRequest::default() };
            let entities = all_of(self.rack.read_running(request).await?.into_inner()).await?;
            Ok(state_of(config, entities))
        });
        match saved {
            Ok(SavedState { config: None, .. }) => {
                Err(OperatorError::new("the switch runs no program".to_string()))
            }
            saved => saved.map_err(|status| refused(&self.address, &status)),
        }
    }

    /// Gives the switch a saved state, and nothing else. Its controllers have no primary meanwhile. After an error the switch runs as before.
    pub fn restore(&mut self, state: &SavedState) -> Result<(), OperatorError> {
        let Some(config) = state.config.clone() else {
            return Err(OperatorError::new("the saved state has no program".to_string()));
        };
        let Operator { runtime, switch, .. } = self;
        let restored = runtime.block_on(async {
            let mut primary = Primary::of(switch).await?;
            primary.restore(config, &state.entities).await
        });
        if restored.is_err() {
            // Without effect if nothing was saved.
            let _ = self.steer(What::ForgetSaved(ForgetSaved {}));
        }
        restored.map_err(|status| refused(&self.address, &status))
    }
}

/// The state of a switch that runs this program and has these entities.
pub(crate) fn state_of(config: Option<ForwardingPipelineConfig>, mut entities: Vec<Entity>) -> SavedState {
    entities.retain(|entity| !is_unwritten(entity));
    SavedState { format: FORMAT.to_string(), config, entities, merged: vec![] }
}

/// The primary controller, as long as its stream is open.
struct Primary<'c> {
    switch: &'c mut Client,
    election: Uint128,
    _say: mpsc::Sender<StreamMessageRequest>,
    _heard: Streaming<StreamMessageResponse>,
}

impl Primary<'_> {
    /// Takes over from the present primary: its election id is in the answer to a lower one.
    async fn of(switch: &mut Client) -> Result<Primary<'_>, Status> {
        let (say, said) = mpsc::channel(1);
        let mut election = 1u128;
        let claim = |id: u128| {
            let election_id = Some(id.into());
            let update = MasterArbitrationUpdate { election_id, ..MasterArbitrationUpdate::default() };
            StreamMessageRequest { update: Some(Said::Arbitration(update)) }
        };
        let ended = || Status::unavailable("the switch has closed the stream");
        say.send(claim(election)).await.map_err(|_| ended())?;
        let mut heard = switch.stream_channel(ReceiverStream::new(said)).await?.into_inner();
        loop {
            let Some(ResponseUpdate::Arbitration(update)) = heard.message().await?.ok_or_else(ended)?.update
            else {
                continue;
            };
            if update.status.as_ref().is_some_and(|status| status.code == Code::Ok as i32) {
                return Ok(Primary { switch, election: election.into(), _say: say, _heard: heard });
            }
            let highest = u128::from(update.election_id.unwrap_or_default());
            if highest >= election {
                let no_more = "the primary has the highest election id: end it with `p4rack ctl takeover`";
                election = highest.checked_add(1).ok_or_else(|| Status::failed_precondition(no_more))?;
                say.send(claim(election)).await.map_err(|_| ended())?;
            }
        }
    }

    async fn restore(&mut self, config: ForwardingPipelineConfig, entities: &[Entity]) -> Result<(), Status> {
        self.set_config(Action::VerifyAndSave, Some(config)).await?;
        // From here on reads and writes are of the saved program, which has its own entries.
        let entries = Entity { entity: Some(Kind::TableEntry(TableEntry::default())) };
        let request = ReadRequest { entities: vec![entries], ..ReadRequest::default() };
        let mut own = all_of(self.switch.read(request).await?.into_inner()).await?;
        own.retain(|entity| !is_unwritten(entity));
        self.write(own.into_iter().map(|entity| update(Type::Delete, entity))).await?;
        self.write(entities.iter().map(|entity| update(making(entity), entity.clone()))).await?;
        self.set_config(Action::Commit, None).await
    }

    async fn set_config(
        &mut self,
        action: Action,
        config: Option<ForwardingPipelineConfig>,
    ) -> Result<(), Status> {
        let request = SetForwardingPipelineConfigRequest {
            election_id: Some(self.election),
            action: action as i32,
            config,
            ..SetForwardingPipelineConfigRequest::default()
        };
        self.switch.set_forwarding_pipeline_config(request).await.map(drop)
    }

    /// Writes in batches.
    async fn write(&mut self, updates: impl IntoIterator<Item = Update>) -> Result<(), Status> {
        let (mut batch, mut bytes) = (vec![], 0);
        for update in updates {
            let size = binary_size(&update);
            if batch.len() == UPDATES || (bytes + size > BYTES && !batch.is_empty()) {
                self.write_batch(std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
            bytes += size;
            batch.push(update);
        }
        if batch.is_empty() { Ok(()) } else { self.write_batch(batch).await }
    }

    async fn write_batch(&mut self, updates: Vec<Update>) -> Result<(), Status> {
        let request = WriteRequest { election_id: Some(self.election), updates, ..WriteRequest::default() };
        self.switch.write(request).await.map(drop)
    }
}

fn update(how: Type, entity: Entity) -> Update {
    Update { r#type: how as i32, entity: Some(entity) }
}

async fn all_of(mut pieces: Streaming<ReadResponse>) -> Result<Vec<Entity>, Status> {
    let mut all = vec![];
    while let Some(piece) = pieces.message().await? {
        all.extend(piece.entities);
    }
    Ok(all)
}
