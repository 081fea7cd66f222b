//! Lookups that keep all registers.
//!
//! Lookups without a call leave few keys to the functions in Rust. Such a function may use most registers, so with a plain call everything that a packet's code needs later
//! would lie in memory, for all packets. These functions of generated code save what the function in Rust may use, and leave the result in
//! [`Context::found`]: the calling convention returns nothing.

use crate::calls::Calls;
use crate::code::{Made, Unable};
use crate::context::Context;
use cranelift_codegen::ir::{
    AbiParam, FuncRef, Function, InstBuilder, InstructionData, MemFlagsData, Signature, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};
use std::mem::offset_of;

/// A function for keys of one, two and three words: parameters are the context, the table and the words.
pub(crate) struct RareLookups([FuncId; 3]);

impl RareLookups {
    /// Declares them in a module.
    pub(crate) fn declare(module: &mut JITModule) -> Made<RareLookups> {
        let mut declare = |name: &str, words| {
            let signature = signature(module, words);
            module.declare_function(name, Linkage::Local, &signature).map_err(|_| Unable("a rare lookup"))
        };
        Ok(RareLookups([declare("rare_1", 1)?, declare("rare_2", 2)?, declare("rare_3", 3)?]))
    }

    /// Makes them known in a function.
    pub(crate) fn known_in(&self, module: &mut JITModule, func: &mut Function) -> [FuncRef; 3] {
        self.0.map(|id| {
            let function = module.declare_func_in_func(id, func);
            // It may lie too far away for a relative call.
            func.dfg.ext_funcs[function].colocated = false;
            function
        })
    }

    /// Compiles those that a function calls. `known`: their names in it; `calls`: the functions in Rust.
    pub(crate) fn define_called(
        &self,
        module: &mut JITModule,
        func: &Function,
        known: [FuncRef; 3],
        calls: &Calls<FuncId>,
    ) -> Made<()> {
        let plain = [calls.lookup_1, calls.lookup_2, calls.lookup_3];
        for (words, ((id, known), plain)) in (1..).zip(self.0.into_iter().zip(known).zip(plain)) {
            if is_called(func, known) {
                define(module, id, plain, words)?;
            }
        }
        Ok(())
    }
}

fn signature(module: &JITModule, words: usize) -> Signature {
    let mut signature = module.make_signature();
    signature.call_conv = CallConv::PreserveAll;
    signature.params = vec![AbiParam::new(types::I64); 2 + words];
    signature
}

fn is_called(func: &Function, function: FuncRef) -> bool {
    let mut insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    insts.any(
        |inst| matches!(func.dfg.insts[inst], InstructionData::Call { func_ref, .. } if func_ref == function),
    )
}

/// Compiles the function that calls `plain`.
fn define(module: &mut JITModule, id: FuncId, plain: FuncId, words: usize) -> Made<()> {
    let mut context = module.make_context();
    context.func.signature = signature(module, words);
    let plain = module.declare_func_in_func(plain, &mut context.func);
    let mut frontend = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut frontend);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let args = b.block_params(entry).to_vec();
    let [to, args @ ..] = args.as_slice() else { return Err(Unable("the signature")) };
    let call = b.ins().call(plain, args);
    let found = b.inst_results(call)[0];
    b.ins().store(MemFlagsData::new().with_notrap(), found, *to, offset_of!(Context, found) as i32);
    b.ins().return_(&[]);
    b.finalize(module.target_config());
    module.define_function(id, &mut context).map_err(|_| Unable("the code of a rare lookup"))
}
