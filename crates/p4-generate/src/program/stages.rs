//! v1model's blocks after the parser, and `main`.

use super::scope::Scope;
use super::types::{Kind, Ty};
use super::{Context, Gen, Where};
use crate::feature::Feature as F;

impl Gen {
    pub(super) fn stages(&mut self) {
        self.checksum("MyVerify", true);
        self.pipeline("MyIngress", Where::Ingress);
        self.pipeline("MyEgress", Where::Egress);
        self.checksum("MyCompute", false);
        self.deparser();
        self.decl(
            "V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;"
                .into(),
        );
    }

    fn pipeline(&mut self, name: &str, place: Where) {
        let top = if self.on(F::TopLevelAction) && self.chance(50) {
            vec![self.declare_top_level_action()]
        } else {
            vec![]
        };
        let ingress = place == Where::Ingress;
        let size = if ingress { self.config.size } else { self.config.size / 2 };
        let valid = vec!["hdr.base".to_string(), "hdr.report".to_string()];
        let cx = Context { place, fuel: size, valid, ..Context::default() };
        let text = self.within(cx, Scope::default(), |g| {
            g.out.open(format!(
                "control {name}(inout headers_t hdr, inout metadata_t meta, \
                 inout standard_metadata_t standard_metadata) {{"
            ));
            g.add_stage();
            g.members(if ingress { 3 } else { 1 }, top);
            g.out.open("apply {");
            if ingress {
                let port = g.between(1, 7);
                g.out.line(format!("standard_metadata.egress_spec = {port};"));
            }
            if g.config.portable {
                g.start_valid(ingress);
            }
            let marked = if g.plain && ingress { g.mark_member() } else { None };
            while g.cx.fuel > 4 {
                g.cx.fuel -= 1;
                g.statement();
            }
            g.apply_rest();
            g.log_values();
            g.report(ingress);
            g.report_kinds(marked);
            g.out.close("}");
            g.out.close("}");
        });
        self.decl(text);
    }

    /// A member of an enum, or an error, that nothing but a value says: where it is, and which.
    fn mark_member(&mut self) -> Option<(String, String)> {
        let place = self.some_place(|g, p| {
            let is_enum = matches!(g.types.kind(&p.ty), Some(Kind::Enum(_)));
            p.write && p.text.starts_with("meta.") && (is_enum || p.ty == Ty::Error)
        })?;
        let member = self.plain_literal(&place.ty);
        self.out.line(format!("{} = {member};", place.text));
        Some((place.text, member))
    }

    /// Shows what the marked member has become and, of plain programs, what kind of packet it is.
    fn report_kinds(&mut self, marked: Option<(String, String)>) {
        if !self.plain {
            return;
        }
        let kind = "standard_metadata.instance_type == 6".to_string();
        let conditions =
            marked.map(|(place, member)| format!("{place} == {member}")).into_iter().chain([kind]);
        for condition in conditions {
            self.out.open(format!("if ({condition}) {{"));
            self.out.line("hdr.report.out0 = ~hdr.report.out0;");
            self.out.close("}");
        }
    }

    /// The headers that the code after takes for valid are so.
    fn start_valid(&mut self, ingress: bool) {
        if ingress {
            self.out.open("if (!hdr.base.isValid()) {");
            self.out.line("mark_to_drop(standard_metadata);");
            self.out.line("return;");
            self.out.close("}");
        }
        self.out.line("hdr.report.setValid();");
    }

    /// Copies what was computed to where it can be seen.
    fn report(&mut self, ingress: bool) {
        self.out.line("hdr.report.setValid();");
        for (at, width) in self.types.widths.clone().into_iter().enumerate() {
            if ingress && self.chance(50) {
                continue;
            }
            let sum = self.some_place(|_, p| p.ty == Ty::Bit(width) && !p.text.starts_with("hdr.report"));
            let Some(place) = sum else { continue };
            let value = place.text.clone();
            self.out.line(format!("hdr.report.out{at} = hdr.report.out{at} ^ {value};"));
        }
        if ingress && self.chance(60) {
            let error = self.error();
            self.out.open(format!("if (standard_metadata.parser_error == {error}) {{"));
            self.out.line("hdr.report.out0 = ~hdr.report.out0;");
            self.out.close("}");
        }
    }

    fn checksum(&mut self, name: &str, verify: bool) {
        let cx = Context { place: Where::Checksum, pure: true, ..Context::default() };
        let text = self.within(cx, Scope::default(), |g| {
            g.out.open(format!("control {name}(inout headers_t hdr, inout metadata_t meta) {{"));
            g.add_stage();
            g.out.open("apply {");
            for _ in 0..g.below(3) {
                g.checksum_call(verify);
            }
            // Only what `simple_switch` takes is a list of calls.
            if !verify && !g.config.portable && g.chance(10) {
                g.out.line("hdr.report.setValid();");
            }
            g.out.close("}");
            g.out.close("}");
        });
        self.decl(text);
    }

    fn checksum_call(&mut self, verify: bool) {
        let place = self.some_place(|_, p| {
            p.ty == Ty::Bit(16)
                && p.header.as_ref().is_some_and(|h| !h.contains("report") && !h.contains('['))
        });
        let Some(place) = place else { return };
        let condition = match &place.header {
            Some(header) => format!("{header}.isValid()"),
            None => "true".to_string(),
        };
        let payload = self.chance(35);
        let (word, feature) = match (verify, payload) {
            (true, false) => ("verify_checksum", F::VerifyChecksum),
            (true, true) => ("verify_checksum_with_payload", F::VerifyPayload),
            (false, false) => ("update_checksum", F::UpdateChecksum),
            (false, true) => ("update_checksum_with_payload", F::UpdatePayload),
        };
        self.note(feature);
        let algorithm = if self.chance(75) { "csum16" } else { "xor16" };
        let header = if self.chance(40) { self.header_list() } else { None };
        let data = header.unwrap_or_else(|| self.data_list(true));
        self.out.line(format!("{word}({condition}, {data}, {}, HashAlgorithm.{algorithm});", place.text));
    }

    fn deparser(&mut self) {
        let fields = self.types.fields(&self.headers).to_vec();
        let mut lines = vec![];
        if self.chance(30) {
            lines.push("packet.emit(hdr);".to_string());
        } else {
            lines.extend(fields.iter().map(|f| format!("packet.emit(hdr.{});", f.name)));
        }
        let body: Vec<String> = lines.iter().map(|l| format!("        {l}\n")).collect();
        self.decl(format!(
            "control MyDeparser(packet_out packet, in headers_t hdr) {{\n    apply {{\n{}    }}\n}}",
            body.concat()
        ));
    }
}
