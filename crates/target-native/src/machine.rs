//! Compilation of the parts of a program with Cranelift.
//!
//! One of the files that may use `unsafe`: it calls generated code.
#![allow(unsafe_code)]

use crate::calls::{Arg, Calls};
use crate::code::{Code, Made, Part, TOO_LARGE, Unable, unread};
use crate::context::Context;
use crate::facts::Facts;
use crate::layout::Layout;
use crate::notes::Notes;
use crate::packet::Packet;
use crate::rare::RareLookups;
use crate::runtime::Job;
use cranelift_codegen::ir::{AbiParam, Type, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use ir::Program;

/// The function for a batch.
type Batch = unsafe extern "C" fn(*mut Context, *mut Packet, u64);

/// A function for a batch of packets, in its last two forms.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CodeText {
    /// Part of the pipeline: `packet`, or for PSA `ingress` and `egress`.
    pub name: &'static str,
    /// As Cranelift gets it.
    pub clif: String,
    /// As Cranelift prints the instructions that it makes of it.
    pub machine_code: String,
}

/// The code of a program.
pub(crate) struct Machine {
    batch: Batch,
    /// Owns the memory that the code lies in.
    module: Option<JITModule>,
}

// SAFETY: the module's memory is read-only by now, and belongs to it alone.
unsafe impl Send for Machine {}
// SAFETY: as above; the code's data are its arguments.
unsafe impl Sync for Machine {}

impl Machine {
    /// The code; `None` if the function is too large, if the machine has no code generator, or if the generator fails, which is a mistake of ours:
    /// the interpreter runs the program then.
    pub(crate) fn compile(
        program: &Program,
        layout: &Layout,
        facts: &Facts,
        part: Part,
        notes: &mut Notes,
    ) -> Option<Machine> {
        let made = Machine::make(program, layout, facts, part, notes, None);
        if let (Err(Unable(what)), true) = (&made, cfg!(debug_assertions))
            && made.as_ref().err() != Some(&TOO_LARGE)
        {
            panic!("the code generator said it could do what it could not: {what}");
        }
        made.ok()
    }

    /// Compiles; an error gives the reason why not. The forms of the code are added to `text`.
    pub(crate) fn make(
        program: &Program,
        layout: &Layout,
        facts: &Facts,
        part: Part,
        notes: &mut Notes,
        text: Option<&mut CodeText>,
    ) -> Made<Machine> {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("is_pic", "false"),
            ("use_colocated_libcalls", "false"),
            ("enable_probestack", "false"),
            // It would verify after each of its own passes, too.
            ("enable_verifier", "false"),
        ] {
            flags.set(name, value).map_err(|_| Unable("settings"))?;
        }
        let isa = cranelift_native::builder().map_err(|_| Unable("this machine"))?;
        let isa = isa.finish(settings::Flags::new(flags)).map_err(|_| Unable("this machine"))?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        let functions = Calls::all();
        functions.map(|(name, address, ..)| {
            builder.symbol(name, address);
        });
        let mut module = JITModule::new(builder);
        let mut context = module.make_context();
        context.func.signature.params = [types::I64; 3].map(AbiParam::new).to_vec();
        context.func.signature.call_conv = module.target_config().default_call_conv;
        let mut missing = false;
        let ids = functions.map(|(name, _, params, result)| {
            let mut signature = module.make_signature();
            signature.params = params.iter().map(|arg| AbiParam::new(type_of(*arg))).collect();
            signature.returns = result.iter().map(|arg| AbiParam::new(type_of(*arg))).collect();
            module.declare_function(name, Linkage::Import, &signature).unwrap_or_else(|_| {
                missing = true;
                FuncId::from_u32(0)
            })
        });
        if missing {
            return Err(Unable("the functions that code calls"));
        }
        let calls = ids.map(|id| module.declare_func_in_func(id, &mut context.func));
        let rare = RareLookups::declare(&mut module)?;
        let rare_lookups = rare.known_in(&mut module, &mut context.func);
        let mut frontend = FunctionBuilderContext::new();
        let b = FunctionBuilder::new(&mut context.func, &mut frontend);
        Code::generate(b, program, layout, facts, part, calls, rare_lookups, notes, module.target_config())?;
        unread::remove(&mut context.func);
        rare.define_called(&mut module, &context.func, rare_lookups, &ids)?;
        if cfg!(debug_assertions)
            && let Err(errors) = cranelift_codegen::verify_function(&context.func, module.isa())
        {
            panic!("the code is not well formed: {errors}");
        }
        let clif = text.is_some().then(|| context.func.display().to_string());
        context.set_disasm(text.is_some());
        let id = module
            .declare_function("batch", Linkage::Local, &context.func.signature)
            .map_err(|_| Unable("the function"))?;
        module.define_function(id, &mut context).map_err(|error| {
            debug_assert!(false, "the code is not compiled: {error:?}");
            Unable("the function's code")
        })?;
        if let (Some(text), Some(clif)) = (text, clif) {
            text.clif = clif;
            text.machine_code =
                context.compiled_code().and_then(|code| code.vcode.clone()).unwrap_or_default();
        }
        module.finalize_definitions().map_err(|_| Unable("the memory for code"))?;
        let address = module.get_finalized_function(id);
        // SAFETY: the code was made for this signature.
        let batch = unsafe { std::mem::transmute::<*const u8, Batch>(address) };
        Ok(Machine { batch, module: Some(module) })
    }

    /// Runs the packets.
    pub(crate) fn run(&self, context: &mut Context, job: &mut Job, packets: &mut [Packet]) {
        context.job = std::ptr::from_mut(job).cast();
        // SAFETY: the context and everything that it points to live until the call returns, and no other code accesses them.
        unsafe { (self.batch)(context, packets.as_mut_ptr(), packets.len() as u64) }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: `run` borrows the machine, so none of its code runs any more.
            unsafe { module.free_memory() };
        }
    }
}

fn type_of(arg: Arg) -> Type {
    match arg {
        Arg::Int => types::I32,
        Arg::Word => types::I64,
    }
}
