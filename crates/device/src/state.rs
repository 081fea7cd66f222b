//! All that a device keeps from one packet to the next, beside its counters.

use crate::access::AccessLog;
use crate::environment::{Environment, Source};
use crate::hash::{self, Algorithm, CustomCrcs};
use crate::names::{refused, resolve};
use crate::objects::value::ValueObject;
use crate::objects::{Array, Object};
use crate::reports::{Digest, Reports};
use crate::table::Tables;
use crate::trace::Trace;
use crate::value_set::ValueSets;
use base_diag::Span;
use base_time::Rng;
use dataplane_api::EntryError;
use ir::{InstanceId, Name, Program};

/// Tables, objects, and the outputs and inputs.
pub struct State {
    pub(crate) tables: Tables,
    pub(crate) value_sets: ValueSets,
    /// One for each instance of the program.
    pub(crate) objects: Vec<Object>,
    /// Indices of those that may have timers. Asked after each packet, so others are not looked at.
    timed: Vec<usize>,
    /// Value extern of each extern function of the program; `None` for other functions.
    pub(crate) functions: Vec<Option<ValueObject>>,
    pub(crate) environment: Box<dyn Environment>,
    /// See [`Environment::is_transparent`]. Asked once: calls of value externs look at it.
    pub(crate) is_transparent: bool,
    pub(crate) rng: Rng,
    pub(crate) accesses: AccessLog,
    /// Trace of packets.
    pub trace: Trace,
    pub(crate) crcs: CustomCrcs,
    reports: Reports,
}

impl State {
    pub(crate) fn new(
        tables: Tables,
        value_sets: ValueSets,
        objects: Vec<Object>,
        functions: Vec<Option<ValueObject>>,
        environment: Box<dyn Environment>,
        rng: Rng,
    ) -> State {
        let may_have_timers =
            |(_, object): &(usize, &Object)| matches!(object, Object::Frame(_) | Object::Value(_));
        let timed = objects.iter().enumerate().filter(may_have_timers).map(|(at, _)| at).collect();
        State {
            tables,
            value_sets,
            objects,
            timed,
            functions,
            is_transparent: environment.is_transparent(),
            environment,
            rng,
            accesses: AccessLog::default(),
            trace: Trace::default(),
            crcs: CustomCrcs::default(),
            reports: Reports::default(),
        }
    }

    /// The hash of `data`, for an object.
    pub fn hash(&self, algorithm: Algorithm, data: &[u8]) -> u64 {
        hash::compute(algorithm, data, &self.crcs, None)
    }

    /// The hash of `data`, for a call in the source.
    pub fn hash_of_call(&self, algorithm: Algorithm, data: &[u8], call: Span) -> u64 {
        hash::compute(algorithm, data, &self.crcs, Some(call))
    }

    /// The objects that may have timers.
    pub(crate) fn timed_objects(&self) -> impl Iterator<Item = (usize, &Object)> {
        self.timed.iter().filter_map(|at| Some((*at, self.objects.get(*at)?)))
    }

    /// Reads a small number through the environment.
    #[inline]
    pub(crate) fn read_environment(&mut self, source: &Source, value: u64) -> u64 {
        if self.is_transparent {
            return value;
        }
        self.environment.read(source, u128::from(value)) as u64
    }

    /// Adds a line to the log.
    pub fn log(&mut self, line: String) {
        self.reports.line(line);
    }

    /// Takes the log.
    pub(crate) fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.reports.log)
    }

    /// Adds a digest.
    pub fn digest(&mut self, digest: Digest) {
        self.reports.digest(digest);
    }

    /// Takes the digests, the oldest first.
    pub(crate) fn take_digests(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.reports.digests)
    }

    /// Takes both.
    pub(crate) fn take_reports(&mut self) -> Reports {
        std::mem::take(&mut self.reports)
    }

    /// An object by its control-plane name, if `pick` takes it.
    pub(crate) fn object<'s, T>(
        &'s self,
        program: &Program,
        kind: &str,
        name: &str,
        pick: impl Fn(&'s Object) -> Option<T>,
    ) -> Result<(InstanceId, T), EntryError> {
        let known: Vec<(usize, &Name)> = program
            .instances
            .iter()
            .enumerate()
            .filter(|(at, _)| self.objects.get(*at).and_then(&pick).is_some())
            .map(|(at, instance)| (at, &instance.control_plane_name))
            .collect();
        let index = resolve(kind, name, known.iter().map(|(_, n)| n.as_str()))?;
        let at = known.get(index).map(|(at, _)| *at);
        let found = at.and_then(|at| Some((InstanceId::from(at), pick(self.objects.get(at)?)?)));
        found.ok_or_else(|| refused(format!("there is no {kind} `{name}`")))
    }

    /// An object of a kind by its control-plane name.
    pub(crate) fn array<T: Array>(
        &self,
        program: &Program,
        name: &str,
    ) -> Result<(InstanceId, &T), EntryError> {
        self.object(program, T::KIND, name, T::of)
    }

    /// The array of an object, for changes.
    pub(crate) fn array_mut<T: Array>(
        &mut self,
        program: &Program,
        name: &str,
    ) -> Result<&mut T, EntryError> {
        let (id, _) = self.array::<T>(program, name)?;
        let found = self.objects.get_mut(id.index()).and_then(T::of_mut);
        found.ok_or_else(|| refused(format!("there is no {} `{name}`", T::KIND)))
    }
}
