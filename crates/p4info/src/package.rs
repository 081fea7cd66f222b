//! The program itself (P4Runtime 1.5, section 6.2.1).

use crate::annotation::{documentation, structured, unstructured};
use crate::describe::Describer;
use ir::{Annotation, AnnotationBody, AnnotationValue, Annotations, Arch, Name};
use p4runtime_proto::p4::config::v1::{PkgInfo, PlatformProperties};

/// Annotations that P4Info has fields for.
const ELSEWHERE: [&str; 2] = ["pkginfo", "platform_property"];

impl Describer<'_> {
    pub(crate) fn package(&mut self) {
        let annotations = &self.program.annotations;
        let mut package = PkgInfo {
            arch: architecture(&self.program.arch),
            doc: documentation(annotations),
            annotations: unstructured(annotations, &ELSEWHERE),
            structured_annotations: structured(annotations)
                .into_iter()
                .filter(|a| !ELSEWHERE.contains(&a.name.as_str()))
                .collect(),
            ..Default::default()
        };
        for (key, value) in pairs(annotations, "pkginfo") {
            let AnnotationValue::Str(text) = value else { continue };
            let field = match key.as_str() {
                "name" => &mut package.name,
                "version" => &mut package.version,
                "arch" => &mut package.arch,
                "organization" => &mut package.organization,
                "contact" => &mut package.contact,
                "url" => &mut package.url,
                _ => continue,
            };
            field.clone_from(text);
        }
        if annotations.iter().any(|a| a.name == "platform_property") {
            package.platform_properties = Some(platform(annotations));
        }
        self.info.pkg_info = Some(package);
    }
}

fn platform(annotations: &Annotations) -> PlatformProperties {
    let mut properties = PlatformProperties::default();
    for (key, value) in pairs(annotations, "platform_property") {
        let AnnotationValue::Int(number) = value else { continue };
        let field = match key.as_str() {
            "multicast_group_table_size" => &mut properties.multicast_group_table_size,
            "multicast_group_table_total_replicas" => &mut properties.multicast_group_table_total_replicas,
            "multicast_group_table_max_replicas_per_entry" => {
                &mut properties.multicast_group_table_max_replicas_per_entry
            }
            _ => continue,
        };
        *field = i32::try_from(number).unwrap_or(i32::MAX);
    }
    properties
}

fn pairs<'a>(
    annotations: &'a Annotations,
    name: &'a str,
) -> impl Iterator<Item = &'a (Name, AnnotationValue)> {
    let of = |annotation: &'a Annotation| match &annotation.body {
        AnnotationBody::Pairs(pairs) => pairs.as_slice(),
        _ => &[],
    };
    annotations.iter().filter(move |a| a.name == name).flat_map(of)
}

/// The architecture's name; of one that the program declares itself, that of the package.
fn architecture(arch: &Arch) -> String {
    match (arch.name(), arch) {
        (Some(name), _) => name.to_string(),
        (None, Arch::Other(package)) => package.to_string(),
        (None, _) => String::new(),
    }
}
