//! Names and types of what accompanies a packet.

use crate::input::Input;
use crate::known::{Origin, Path, Root};
use crate::union_key::{Part, Source, Step};
use ir::{Name, Program, Role, Stage, StageKind, Type, Var};

/// Roots of the places of a packet.
pub struct Roots {
    headers: (Name, Type),
    metadata: Type,
    pub standard: Type,
}

impl Roots {
    /// Roots of a program for v1model.
    pub fn new(program: &Program) -> Roots {
        let (_, metadata) = param(program, Role::Metadata);
        let (_, standard) = param(program, Role::StandardMetadata);
        Roots { headers: param(program, Role::Headers), metadata, standard }
    }

    /// Origin of a leaf at the start: a field is that of the packet, metadata is zero.
    pub fn at_start(&self, program: &Program, leaf: &Path) -> Origin {
        match leaf.root {
            Root::Headers => match self.name(program, leaf) {
                (name, Type::Varbit(_)) => Origin::of([Input::Payload(name)].into()),
                (name, _) => Origin::copy(Input::Field(name)),
            },
            Root::Standard => match self.name(program, leaf).0.as_str() {
                "ingress_port" => Origin::copy(Input::Port),
                // Ingress chooses them; they are zero before.
                "egress_spec" | "mcast_grp" | "priority" | "egress_port" | "egress_rid" => Origin::default(),
                field => Origin::of([Input::Environment(field.into())].into()),
            },
            Root::Metadata | Root::Local(..) => Origin::default(),
        }
    }

    /// The leaf of a field of the standard metadata.
    pub fn standard_field(&self, program: &Program, name: &str) -> Option<Path> {
        let at = program.fields(&self.standard).iter().position(|field| field.name == name)?;
        Some(Path { root: Root::Standard, fields: vec![at as u32] })
    }

    /// `hdr.ipv4.src` and its type; of the standard metadata the field alone.
    fn name(&self, program: &Program, leaf: &Path) -> (Name, Type) {
        let (mut text, mut ty) = match leaf.root {
            Root::Headers => (self.headers.0.to_string(), self.headers.1.clone()),
            Root::Metadata => (String::new(), self.metadata.clone()),
            Root::Standard => (String::new(), self.standard.clone()),
            Root::Local(..) => (String::new(), Type::Void),
        };
        for at in &leaf.fields {
            while let Type::Stack(elem, _) = ty {
                ty = *elem;
            }
            let Some(field) = program.fields(&ty).get(*at as usize).cloned() else { break };
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&field.name);
            ty = field.ty;
        }
        (text.into(), ty)
    }

    /// All parts of a packet that a union key may have, each with the input that it belongs to.
    pub fn parts(&self, program: &Program) -> Vec<(Input, Part)> {
        let mut parts = vec![];
        if let Some(port) = program.fields(&self.standard).iter().find(|field| field.name == "ingress_port") {
            let name = Input::Port.to_string().into();
            let width = program.bits(&port.ty).unwrap_or(0) as u32;
            parts.push((Input::Port, Part { name, source: Source::Port, width }));
        }
        let (name, ty) = &self.headers;
        fields(program, ty, (name, name), &mut vec![], &mut parts);
        parts
    }
}

/// Adds the fields of fixed length below `ty`. `names` are the place's, without and with the numbers of elements.
fn fields(
    program: &Program,
    ty: &Type,
    names: (&str, &str),
    steps: &mut Vec<Step>,
    parts: &mut Vec<(Input, Part)>,
) {
    let mut below = |step: Step, names: (&str, &str), ty: &Type| {
        steps.push(step);
        fields(program, ty, names, steps, parts);
        steps.pop();
    };
    match ty {
        Type::Stack(elem, size) => {
            for at in 0..*size {
                below(Step::Element(at), (names.0, &format!("{}[{at}]", names.1)), elem);
            }
        }
        Type::Varbit(_) => {}
        _ if !program.fields(ty).is_empty() => {
            for (at, field) in program.fields(ty).iter().enumerate() {
                let longer = |name: &str| format!("{name}.{}", field.name);
                below(Step::Field(at as u32), (&longer(names.0), &longer(names.1)), &field.ty);
            }
        }
        _ => {
            if let Some(width) = program.bits(ty) {
                let part =
                    Part { name: names.1.into(), source: Source::Field(steps.clone()), width: width as u32 };
                parts.push((Input::Field(names.0.into()), part));
            }
        }
    }
}

/// The parameter of a stage that has this role; `None` if it has none.
pub fn param_of<'p>(program: &'p Program, stage: &Stage, role: Role) -> Option<&'p Var> {
    let at = stage.roles.iter().position(|known| *known == role)?;
    let (params, vars) = match stage.kind {
        StageKind::Parse(id) => (&program.parser(id).params, &program.parser(id).vars),
        StageKind::Control(id) | StageKind::Deparse(id) => {
            (&program.control(id).params, &program.control(id).vars)
        }
        StageKind::TrafficManager => return None,
    };
    vars.get(params.get(at)?.index())
}

/// Name and type of the parameter of this role; as ingress names it.
fn param(program: &Program, role: Role) -> (Name, Type) {
    let of_stage = |stage: &Stage| {
        let var = param_of(program, stage, role)?;
        Some((var.name.clone(), var.ty.clone()))
    };
    let ingress = program.stage("ingress").into_iter();
    ingress.chain(&program.stages).find_map(of_stage).unwrap_or((Name::default(), Type::Void))
}
