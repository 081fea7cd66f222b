//! Values that nobody reads: Cranelift keeps loads and parameters of blocks even so, with everything that they need.
//!
//! ```text
//! Before: v1 = load v0+8;  v2 = iadd v1, v1;  jump block1(v2)    block1(v3): v3 is not read
//! After:  jump block1                                            block1:
//! ```

use cranelift_codegen::entity::{EntitySet, SecondaryMap};
use cranelift_codegen::ir::{Block, BlockArg, Function, Inst, InstructionData, Value, ValueDef};

/// Takes away instructions without an effect whose results nobody reads, and parameters of blocks that nobody reads.
pub(crate) fn remove(func: &mut Function) {
    let read = Reading::of(func).end();
    let blocks: Vec<Block> = func.layout.blocks().collect();
    for block in &blocks {
        let insts: Vec<Inst> = func.layout.block_insts(*block).collect();
        for inst in insts {
            let results = func.dfg.inst_results(inst);
            if !has_effect(func, inst) && !results.iter().any(|result| read.contains(*result)) {
                func.layout.remove_inst(inst);
            } else {
                drop_arguments(func, inst, &read);
            }
        }
    }
    // Those of the first block are the function's.
    for block in blocks.into_iter().skip(1) {
        let unread: Vec<Value> =
            func.dfg.block_params(block).iter().filter(|param| !read.contains(**param)).copied().collect();
        // The last ones first: the others move up.
        unread.into_iter().rev().for_each(|param| func.dfg.remove_block_param(param));
    }
}

/// Takes the arguments for parameters that nobody reads away from a jump.
fn drop_arguments(func: &mut Function, inst: Inst, read: &EntitySet<Value>) {
    let dfg = &mut func.dfg;
    let calls = dfg.insts[inst].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables);
    for call in calls {
        let params = dfg.blocks[call.block(&dfg.value_lists)].params(&dfg.value_lists);
        let unread: Vec<usize> = (0..params.len()).filter(|at| !read.contains(params[*at])).collect();
        unread.into_iter().rev().for_each(|at| call.remove(at, &mut dfg.value_lists));
    }
}

/// Search for the values that somebody reads.
struct Reading<'f> {
    func: &'f Function,
    /// The jumps to each block, with their position among the jumps of the instruction.
    jumps: SecondaryMap<Block, Vec<(Inst, usize)>>,
    read: EntitySet<Value>,
    /// Values whose own operands have not been looked at.
    left: Vec<Value>,
}

impl<'f> Reading<'f> {
    /// Operands of instructions with an effect.
    fn of(func: &'f Function) -> Reading<'f> {
        let mut reading = Reading { func, jumps: SecondaryMap::new(), read: EntitySet::new(), left: vec![] };
        for block in func.layout.blocks() {
            for inst in func.layout.block_insts(block) {
                if has_effect(func, inst) {
                    func.dfg.inst_args(inst).iter().for_each(|arg| reading.reads(*arg));
                }
                let calls = reading.calls(inst);
                for (at, call) in calls.iter().enumerate() {
                    reading.jumps[call.block(&func.dfg.value_lists)].push((inst, at));
                }
            }
        }
        reading
    }

    fn calls(&self, inst: Inst) -> &'f [cranelift_codegen::ir::BlockCall] {
        let dfg = &self.func.dfg;
        dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables)
    }

    fn reads(&mut self, value: Value) {
        let value = self.func.dfg.resolve_aliases(value);
        if self.read.insert(value) {
            self.left.push(value);
        }
    }

    /// And those that these need in turn.
    fn end(mut self) -> EntitySet<Value> {
        while let Some(value) = self.left.pop() {
            match self.func.dfg.value_def(value) {
                ValueDef::Result(inst, _) if !has_effect(self.func, inst) => {
                    self.func.dfg.inst_args(inst).iter().for_each(|arg| self.reads(*arg));
                }
                ValueDef::Param(block, at) => {
                    for (inst, call) in std::mem::take(&mut self.jumps[block]) {
                        let args = self.calls(inst)[call].args(&self.func.dfg.value_lists).nth(at);
                        args.and_then(|arg| BlockArg::as_value(&arg))
                            .into_iter()
                            .for_each(|arg| self.reads(arg));
                        self.jumps[block].push((inst, call));
                    }
                }
                _ => {}
            }
        }
        self.read
    }
}

/// True if an instruction does more than to compute its results.
fn has_effect(func: &Function, inst: Inst) -> bool {
    let data = &func.dfg.insts[inst];
    let opcode = data.opcode();
    let may_trap = match data {
        InstructionData::Load { flags, .. } => !func.dfg.mem_flags[*flags].notrap(),
        _ => opcode.can_load() || opcode.can_trap(),
    };
    may_trap
        || opcode.is_call()
        || opcode.is_branch()
        || opcode.is_terminator()
        || opcode.can_store()
        || opcode.other_side_effects()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Signature, UserFuncName, types};
    use cranelift_codegen::isa::CallConv;
    use cranelift_codegen::settings::Flags;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    /// A loop with two parameters: one is read by a store, the other only becomes itself.
    #[test]
    fn what_only_reads_itself_goes() {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params = vec![AbiParam::new(types::I64); 2];
        let mut func = Function::with_name_signature(UserFuncName::default(), signature);
        let mut frontend = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut func, &mut frontend);
        let [entry, round, end] = [(); 3].map(|()| b.create_block());
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let [address, many] = [0, 1].map(|at| b.block_params(entry)[at]);
        let plain = MemFlagsData::new().with_notrap();
        let unread = b.ins().load(types::I64, plain, address, 8);
        b.ins().load(types::I64, MemFlagsData::new(), address, 16);
        let [left, sum] = [(); 2].map(|()| b.append_block_param(round, types::I64));
        b.ins().jump(round, &[many.into(), unread.into()]);
        b.switch_to_block(round);
        b.ins().store(plain, left, address, 0);
        let sum = b.ins().iadd(sum, left);
        let left = b.ins().iadd_imm_s(left, -1);
        b.ins().brif(left, round, &[left.into(), sum.into()], end, &[]);
        b.switch_to_block(end);
        b.ins().return_(&[]);
        b.seal_all_blocks();
        let isa = cranelift_native::builder().expect("a known machine");
        let isa = isa.finish(Flags::new(cranelift_codegen::settings::builder())).expect("settings");
        b.finalize(isa.frontend_config());
        remove(&mut func);
        let text = func.display().to_string();
        assert_eq!(func.dfg.block_params(entry).len(), 2);
        assert_eq!(func.dfg.block_params(round).len(), 1, "{text}");
        assert!(!text.contains("v0+8") && text.contains("v0+16"), "{text}");
        assert!(text.contains("store") && text.contains("brif"), "{text}");
    }
}
