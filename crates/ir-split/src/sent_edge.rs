//! An edge with spares as the program of its sender says it: all that an agent beside the device needs, without a controller.
//!
//! ```text
//! @edge_with_spares(0, 100, "025241434b00...", 3, 4)   the edge's number, microseconds between ticks, a tick, the ports of its targets
//! control p4rack_leave(...)
//! ```

use ir::{Annotation, AnnotationBody, AnnotationValue, Name, Program};

const ANNOTATION: &str = "edge_with_spares";

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentEdge {
    /// Control-plane name of the control that has the edge's registers.
    pub control: Name,
    /// The index in these registers.
    pub number: u64,
    /// Microseconds between two ticks.
    pub tick_us: u64,
    /// A tick, by which the edge notices that time has passed: the device takes it from the port of any target.
    pub tick: Vec<u8>,
    /// Ports of the targets, the preferred one first.
    pub ports: Vec<u32>,
}

impl SentEdge {
    /// The annotation of the edge's control.
    pub(crate) fn annotation(&self) -> Annotation {
        let int = |value: u64| AnnotationValue::Int(value.into());
        let hex: String = self.tick.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut values = vec![int(self.number), int(self.tick_us), AnnotationValue::Str(hex)];
        values.extend(self.ports.iter().map(|port| int((*port).into())));
        Annotation { name: ANNOTATION.into(), body: AnnotationBody::Values(values) }
    }

    /// The edges that a program says; annotations of another form are none.
    pub fn of_program(program: &Program) -> Vec<SentEdge> {
        let all = program.controls.iter().flat_map(|control| {
            let own = control.annotations.iter().filter(|annotation| annotation.name == ANNOTATION);
            own.filter_map(|annotation| SentEdge::read(&control.control_plane_name, annotation.body.values()))
        });
        all.collect()
    }

    fn read(control: &Name, values: &[AnnotationValue]) -> Option<SentEdge> {
        let [number, tick_us, AnnotationValue::Str(hex), ports @ ..] = values else { return None };
        let int = |value: &AnnotationValue| match value {
            AnnotationValue::Int(value) => u64::try_from(value).ok(),
            _ => None,
        };
        let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        Some(SentEdge {
            control: control.clone(),
            number: int(number)?,
            tick_us: int(tick_us).filter(|us| *us > 0)?,
            tick: (0..hex.len()).step_by(2).map(byte).collect::<Option<_>>()?,
            ports: ports.iter().map(|port| u32::try_from(int(port)?).ok()).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_read_as_it_was_written() {
        let edge = SentEdge {
            control: "In.p4rack_leave".into(),
            number: 1,
            tick_us: 100,
            tick: vec![2, 0x52, 0xff],
            ports: vec![3, 400],
        };
        let annotation = edge.annotation();
        assert_eq!(SentEdge::read(&edge.control, annotation.body.values()), Some(edge));
        for wrong in [&[][..], &[AnnotationValue::Bool(true)], &[AnnotationValue::Int(0.into())]] {
            assert_eq!(SentEdge::read(&"In".into(), wrong), None);
        }
        let odd = [
            AnnotationValue::Int(0.into()),
            AnnotationValue::Int(1.into()),
            AnnotationValue::Str("é0".into()),
        ];
        assert_eq!(SentEdge::read(&"In".into(), &odd), None);
    }
}
