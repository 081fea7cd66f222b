//! Apps with a table of which the switch has the busy entries: `@hot` on a table that is mirrored to a handler. Entries come to the switch and leave it
//! as flows of an app with an affinity do.

use crate::flows::Unpinned;
use crate::handlers;
use crate::pinned::PinnedApp;
use base_diag::Diagnostic;
use base_diag::codes::handler as codes;
use flow_control::sketch::Shape;
use ir::{Name, Program};
use ir_handlers::Hot;
use ir_keys::{Input, Keys, Place, Reason, keys};
use rack_model::pinning::{Affinity, Pinning, Promotion};
use rack_model::{App, Spanned};
use std::sync::Arc;

/// The program of an app with such a table, and its flows; none without one.
pub fn program(program: &Program, app: &App) -> Result<Option<(Arc<Program>, PinnedApp)>, Vec<Diagnostic>> {
    let Some(hot) = ir_handlers::hot(program)? else { return Ok(None) };
    let table = &program.control(hot.control).tables[hot.table.index()];
    let refuse = |why: &str, help: &str| {
        let title = format!("`{}` cannot be `@hot`", table.control_plane_name);
        vec![Diagnostic::error(codes::REMOTE, title).at(table.span, why.to_string()).help(help)]
    };
    if let Some(pinning) = &app.pinning {
        let problem = refuse("the app's flows are pinned, too", "leave out `affinity` or `@hot`");
        let at = |d: Diagnostic| d.at(pinning.affinity.span, "`affinity` pins them");
        return Err(problem.into_iter().map(at).collect());
    }
    if let Some(other) = app.other_origins.first() {
        let problem = refuse("packets are counted at one switch", "leave out `@hot`, or use one origin");
        let at = |d: Diagnostic| d.at(other.span, "a second origin");
        return Err(problem.into_iter().map(at).collect());
    }
    let mut look_up = ir_pin::look_up(program, (hot.control, hot.table));
    let actions = look_up.controls.iter_mut().flat_map(|control| &mut control.actions);
    actions.for_each(|action| action.body.stmts.clear());
    let mut own = keys(&look_up);
    // Nothing uses the objects of a program that only looks a table up.
    own.obstacles.retain(|obstacle| matches!(obstacle.reason, Reason::Depends { .. }));
    let name = hot.name(program);
    match (copies(&keys(program), name), copies(&own, name)) {
        (Some(whole), Some(alone)) if whole == alone => {}
        _ => {
            return Err(refuse(
                "its keys are not fields as the parser leaves them",
                "use header fields that nothing changes before, as keys",
            ));
        }
    }
    let regions = handlers::calls(program)?;
    let region = regions.into_iter().find(|(handler, _)| handler.name == hot.handler);
    let [region] = region.map(|(_, regions)| regions).unwrap_or_default().try_into().map_err(|_| {
        refuse(
            "its handler has not one region of its own",
            "call the handler at one place, outside of marked regions",
        )
    })?;
    let pinned = ir_pin::hot(program, (hot.control, hot.table), hot.top, region);
    let Hot { period, sketch: (rows, columns), top, .. } = hot;
    let unpinned = Unpinned {
        program: Arc::new(look_up),
        keys: own,
        has_own_key: false,
        entries: vec![],
        by_hand: None,
        sketch: Shape { rows, columns },
    };
    // An entry without packets for two periods makes room.
    let promote = Promotion { window: period, idle: period * 2, span: app.span };
    let pinning = Pinning {
        affinity: Spanned::new(Affinity::Medium, app.span),
        flows: top,
        is_planned: None,
        demand: None,
        flow_key: None,
        shard_key: None,
        shards: None,
        replicas: 1,
        promote: Some(promote),
        hold: vec![],
        patience: period,
        objects: vec![],
        helpers: 1,
    };
    let model = App { pinning: Some(pinning), ..app.clone() };
    let changed = Arc::new(pinned.program.clone());
    Ok(Some((changed, PinnedApp { model, pinned, unpinned, share: None })))
}

/// The inputs that the keys of a table are copies of; none if one of them is not a copy of a field or port.
fn copies(keys: &Keys, table: &Name) -> Option<Vec<Input>> {
    let keyed =
        keys.keyed.iter().find(|keyed| matches!(&keyed.place, Place::Table(name) if name == table))?;
    keyed.keys.iter().map(|key| key.copy_of.clone().filter(Input::is_of_packet)).collect()
}
