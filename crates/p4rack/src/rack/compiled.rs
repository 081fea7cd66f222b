//! Programs of apps, compiled, with their regions.

use super::read::named;
use crate::files::Disk;
use crate::handlers::{self};
use base_diag::{Diagnostic, SourceMap};
use compiler::{Until, compile};
use device_classes::Lacks;
use ir::{Arch, Program};
use ir_footprint::analysis;
use ir_split::auto::{self, Policy};
use p4_syntax::{Loader, Options};
use rack_model::{App, Cuts, DeviceClass};
use std::path::Path;
use std::sync::Arc;

/// The program of an app, compiled with the app's definitions and folders.
pub(crate) fn compile_app(
    app: &App,
    directory: &Path,
    extra_defines: &[String],
    loader: &dyn Loader,
    map: &mut SourceMap,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let mut defines: Vec<String> =
        app.defines.iter().map(|(name, value)| format!("{}={}", name.value, value.value)).collect();
    defines.extend(extra_defines.iter().cloned());
    let include_dirs = app.include.iter().map(|dir| directory.join(&dir.value).display().to_string());
    let options = Options { defines, include_dirs: include_dirs.collect(), ..Options::default() };
    let main = named(&app.program, directory)?.display().to_string();
    handlers::check_form(&main, map)?;
    compile_from(&main, loader, &options, map, warnings)
}

/// Compiles a program that has to run, with its `flyto` calls and its calls of handlers as regions; warnings are added to `warnings`.
pub fn compile_program(
    main: &str,
    options: &Options,
    map: &mut SourceMap,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    handlers::check_form(main, map)?;
    compile_from(main, &Disk, options, map, warnings)
}

/// The same, from a loader of texts.
pub(super) fn compile_from(
    main: &str,
    loader: &dyn Loader,
    options: &Options,
    map: &mut SourceMap,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let compiled = compile(main, loader, options, Until::Elaborated, map);
    match compiled.program {
        Some(mut program) => {
            let wrong = crate::functions::check(&program);
            if !wrong.is_empty() {
                return Err(wrong);
            }
            ir_split::landings(Arc::make_mut(&mut program))?;
            handlers::mark(Arc::make_mut(&mut program));
            warnings.extend(compiled.diagnostics);
            runnable(program, main, map)
        }
        // It has errors, or no `main`, which is one.
        None => Err(compiled.diagnostics),
    }
}

/// The program that devices run: for one for PNA the same for PSA, else the program itself. `name` is its file.
pub fn runnable(
    program: Arc<Program>,
    name: &str,
    map: &mut SourceMap,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let Arch::Pna { .. } = program.arch else { return Ok(program) };
    let text = target_psa::convert(&program)?;
    compiler::reparse(&format!("{name} for PSA"), &text, map)
}

/// The program with regions where the app wants them.
pub(super) fn with_regions(
    program: Arc<Program>,
    cuts: Cuts,
    class: DeviceClass,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let policy = match cuts {
        Cuts::Marked => return Ok(program),
        Cuts::Tables => Policy::Tables,
        Cuts::Blocks => Policy::Blocks,
        Cuts::Chain => Policy::Chain,
        Cuts::Beyond if class.profile().lacks == Lacks::NOTHING => return Ok(program),
        Cuts::Beyond => Policy::Beyond(class),
        Cuts::Auto => return analysis::finest(&program).map(Arc::new),
    };
    let mut marked = analysis::base(&program, policy)?;
    let mut cuts = auto::cuts(&marked, policy);
    cuts.retain(|cut| !cut.from.in_loop);
    auto::mark(&mut marked, &cuts);
    Ok(Arc::new(marked))
}
