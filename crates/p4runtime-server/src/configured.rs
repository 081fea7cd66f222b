//! A program on its device, with all that the control plane has written.

use crate::packet_io::PacketIo;
use crate::target::{Built, Target};
use p4runtime_proto::Bytes;
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use p4runtime_store::{Catalog, Names, Store};

/// A program with the entities that the control plane has written.
pub(crate) struct Configured<T> {
    pub(crate) config: ForwardingPipelineConfig,
    /// The `p4_device_config` from which the program was built: that of an earlier configuration, if the present one keeps the running program.
    pub(crate) source: Bytes,
    /// Names of translated values: strings outside, numbers inside.
    pub(crate) names: Names,
    pub(crate) store: Store,
    pub(crate) packet_io: PacketIo,
    pub(crate) target: T,
    /// Upper bound of the program's memory, in bytes.
    pub(crate) memory: u64,
    /// True if the saved program can no longer be committed.
    pub(crate) is_spoilt: bool,
}

impl<T: Target> Configured<T> {
    /// Config of a device that was just built.
    pub(crate) fn new(
        config: ForwardingPipelineConfig,
        source: Bytes,
        built: Built<T>,
        is_noted: bool,
    ) -> Configured<T> {
        let mut store = Store::with(Catalog::with(built.plain.clone(), built.numbers));
        store.set_limit(built.memory);
        if is_noted {
            store.keep_notes();
        }
        for update in &built.initial {
            // Entries that P4Info does not describe (a hidden action) cannot be expressed, and are not listed.
            let _ = store.load_initial(update);
        }
        Configured {
            packet_io: PacketIo::new(&built.plain),
            config: ForwardingPipelineConfig { p4info: Some((*built.info).clone()), ..config },
            source,
            names: Names::new(&built.info, &built.plain, &built.initial),
            store,
            target: built.target,
            memory: built.memory,
            is_spoilt: false,
        }
    }
}
