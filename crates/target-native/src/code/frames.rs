//! Frame externs: code leaves the packet in their calls, and begins again where a frame runs on.

use super::{Code, Made};
use crate::layout::{Node, kind_of};
use crate::notes::FrameCallNote;
use cranelift_codegen::ir::{InstBuilder, types};
use device::stage::BlockName;
use ir::{Expr, InstanceId, Name};

impl<'a> Code<'a, '_> {
    /// Leaves the packet, and those after it for later: all of it, and the block's variables, are in the frame.
    pub(crate) fn call_frame(&mut self, instance: InstanceId, method: &Name, args: &[&'a Expr]) -> Made<()> {
        if self.ahead {
            self.end_ahead();
            return Ok(());
        }
        let width = |arg: &&'a Expr| {
            kind_of(self.program, &arg.ty).filter(|_| self.places().can(arg)).map(|kind| kind.width())
        };
        let Some(widths) = args.iter().map(width).collect::<Option<Vec<u32>>>() else {
            self.notes.lacks_frame_calls = true;
            return Ok(());
        };
        let values = args.iter().map(|arg| self.value(arg)).collect::<Made<Vec<_>>>()?;
        for (at, value) in values.into_iter().enumerate() {
            self.store_key_pair(at, value);
        }
        self.spill_packet();
        self.nodes.iter().for_each(|node| self.spill(node));
        let id = self.number(types::I32, self.notes.frame_calls.len() as u64);
        self.notes.frame_calls.push(FrameCallNote { instance, method: method.clone(), widths });
        self.b.ins().call(self.calls.frame_call, &[self.context, self.packet, id]);
        self.b.ins().return_(&[]);
        let dead = self.b.create_block();
        self.b.seal_block(dead);
        self.b.switch_to_block(dead);
        Ok(())
    }

    /// The deparser alone.
    pub(crate) fn deparse_packet(&mut self) -> Made<()> {
        self.fill_packet();
        self.begin_deparser()?;
        self.deparser()
    }

    /// From one of the positions at which frames continue to the end of ingress: headers come from the bytes; other
    /// values from the frame of the calling packet, or initial values for a fresh frame.
    pub(crate) fn resume(&mut self, at: usize, is_fresh: bool) -> Made<()> {
        self.fill_packet();
        let start = self.scalar(self.layout.registers.start);
        self.set_scalar(self.layout.registers.cursor, start);
        let [headers, metadata, standard] = &self.layout.roles;
        self.zero(headers);
        self.clear_stacks(headers);
        self.parse()?;
        if !is_fresh {
            self.fill(metadata);
            self.fill(standard);
        }
        self.enter(BlockName::Ingress);
        if is_fresh {
            self.locals(BlockName::Ingress);
        } else {
            let control = self.program.control(self.facts.controls[&BlockName::Ingress]);
            let nodes = self.nodes.iter().enumerate();
            for (_, node) in nodes.filter(|(at, _)| !control.params.iter().any(|param| param.index() == *at))
            {
                self.fill(node);
            }
        }
        let control = self.program.control(self.facts.controls[&BlockName::Ingress]);
        let rests = self.facts.resumes.get(at).and_then(|path| path.rests(&control.body));
        for stmts in rests.into_iter().flatten() {
            self.stmts(stmts)?;
        }
        self.end_ingress();
        Ok(())
    }

    fn clear_stacks(&mut self, node: &Node) {
        match node {
            Node::Stack(stack) => self.clear_stack(stack),
            Node::Struct(nodes) | Node::Union(nodes) => nodes.iter().for_each(|node| self.clear_stacks(node)),
            _ => {}
        }
    }
}
