/** Style of an invoice on paper and on a screen: black on white, in fonts that every system has, with nothing from outside. */
export const invoicePageStyle = `
  @page {
    size: A4;
    margin: 16mm 16mm 18mm;
    @bottom-right { color: #5c6672; font: 8pt Helvetica, Arial, sans-serif; content: "Page " counter(page) " of " counter(pages); }
  }
  * { box-sizing: border-box; }
  html { color: #1a1f26; background: #eceef1; font: 10pt/1.45 "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; }
  body { margin: 0; }
  main { width: 210mm; min-height: 297mm; margin: 8mm auto; padding: 18mm 16mm 20mm; background: #fff; box-shadow: 0 1px 6px #0003; }
  header { display: flex; justify-content: space-between; align-items: flex-start; padding-bottom: 6mm; border-bottom: 2px solid #1a1f26; }
  .issuer { font-size: 15pt; font-weight: 700; }
  h1 { margin: 0; font-size: 15pt; font-weight: 400; }
  .whole, h1 { white-space: nowrap; }
  address { font-style: normal; overflow-wrap: anywhere; }
  header { gap: 8mm; }
  h2 { margin: 8mm 0 2mm; font-size: 11pt; break-after: avoid; }
  dl { display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content fit-content(66mm); gap: 1.5mm 6mm; margin: 6mm 0 8mm; }
  dt { color: #5c6672; }
  dd { margin: 0; overflow-wrap: anywhere; }
  table { width: 100%; border-collapse: collapse; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
  th { padding: 1.5mm 2mm; border-bottom: 1px solid #1a1f26; color: #5c6672; font-size: 8.5pt; font-weight: 600; text-align: left; vertical-align: bottom; }
  td { padding: 1.8mm 2mm; border-bottom: 1px solid #dfe3e8; vertical-align: top; }
  th:first-child, td:first-child { padding-left: 0; }
  th:last-child, td:last-child { padding-right: 0; }
  .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
  th .number { display: block; }
  .detail { color: #5c6672; font-size: 8.5pt; }
  .totals { width: 80mm; margin: 3mm 0 0 auto; break-inside: avoid; }
  .totals td { border: 0; padding: 1mm 0; }
  .totals .sum td { border-top: 2px solid #1a1f26; font-size: 12pt; font-weight: 700; }
  .trace td, .trace th, .items td, .items th { font-size: 7.5pt; padding-top: 1mm; padding-bottom: 1mm; }
  code { font-family: "DejaVu Sans Mono", Consolas, Menlo, monospace; font-size: 7.5pt; overflow-wrap: anywhere; }
  .trace code, .items code { font-size: 7pt; white-space: nowrap; }
  .items p { margin: 0 0 1.5mm; color: #5c6672; font-size: 8.5pt; }
  footer { margin-top: 6mm; color: #5c6672; font-size: 8.5pt; break-inside: avoid; }
  footer p { margin: 0 0 1.5mm; }
  @media screen and (max-width: 52rem) {
    main { width: auto; min-height: 0; margin: 0; padding: 6mm 5mm; box-shadow: none; }
    dl { grid-template-columns: max-content minmax(0, 1fr); }
    .totals { width: 100%; }
    .trace code, .items code { white-space: normal; }
  }
  @media screen and (max-width: 40rem) {
    header { flex-wrap: wrap; }
    thead { display: none; }
    table:not(.totals), table:not(.totals) tbody, table:not(.totals) tr { display: block; }
    table:not(.totals) tr { padding: 1.5mm 0; border-bottom: 1px solid #1a1f26; }
    td[data-label] { display: flow-root; padding: 0.5mm 0 0.5mm 30mm; border: 0; overflow-wrap: anywhere; }
    td[data-label]:first-child { padding-left: 30mm; }
    td[data-label]::before { content: attr(data-label); float: left; width: 28mm; margin-left: -30mm; color: #5c6672; font-size: 8.5pt; text-align: left; white-space: normal; }
    td:empty { display: none; }
  }
  @media print {
    html { background: none; }
    main { width: auto; min-height: 0; margin: 0; padding: 0; box-shadow: none; }
  }
`;
