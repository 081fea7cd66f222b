//! Pages of HTML and pictures in SVG that need nothing else: no style sheet, no script, no font from elsewhere.

pub mod chart;
pub mod markup;
