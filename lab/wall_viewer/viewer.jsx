// SPDX-License-Identifier: BSD-3-Clause
// Draw perflogs-templates/grafana-dashboard.json by Grafana's own libraries (@grafana/data, @grafana/ui), without its
// server: queries go to Prometheus, and their answers as data frames to the panels' components. The state timeline
// is in no library of Grafana, so it is left out.
//
//     npm install --ignore-scripts --legacy-peer-deps && npm run build
//     index.html?api=http://HOST:9090/api/v1&from=SECONDS&to=SECONDS

import React from 'react';
import {createRoot} from 'react-dom/client';
import {
  FieldType, ThemeContext, applyFieldOverrides, createTheme, getDisplayProcessor, getFieldDisplayName, getFieldDisplayValues,
  standardFieldConfigEditorRegistry, standardTransformers, standardTransformersRegistry, toDataFrame, transformDataFrame,
} from '@grafana/data';
import {BigValue, BigValueColorMode, BigValueGraphMode, BigValueJustifyMode, GlobalStyles, PanelChrome, TimeSeries} from '@grafana/ui';
import {TableNG} from '@grafana/ui/unstable';
import dashboard from '../../perflogs-templates/grafana-dashboard.json';

const WIDTH = 1500, CELL = WIDTH / 24, ROW = 34, STEP_S = 3600, TIME_ZONE = 'utc';
const theme = createTheme({colors: {mode: 'light'}});
const parameters = new URLSearchParams(location.search);
const api = parameters.get('api'), from = Number(parameters.get('from')), to = Number(parameters.get('to'));

standardFieldConfigEditorRegistry.setInit(() => []);
const transformers = new Map(Object.values(standardTransformers).filter((each) => each?.id).map((each) => [each.id, each]));
standardTransformersRegistry.setInit(() =>
  [...transformers.values()].map((each) => ({id: each.id, name: each.name, transformation: () => each, aliasIds: []})));

async function ask(path, query) {
  const answer = await (await fetch(`${api}${path}?${new URLSearchParams(query)}`)).json();
  if (answer.status !== 'success') throw new Error(JSON.stringify(answer));
  return answer.data.result;
}

function tableFrame(rows, refId) {
  const labels = [...new Set(rows.flatMap((row) => Object.keys(row.metric)))].sort();
  return toDataFrame({refId, fields: [
    {name: 'Time', type: FieldType.time, values: rows.map((row) => row.value[0] * 1000)},
    ...labels.map((name) => ({name, type: FieldType.string, values: rows.map((row) => row.metric[name])})),
    {name: `Value #${refId}`, type: FieldType.number, values: rows.map((row) => Number(row.value[1]))},
  ]});
}

function seriesFrame(series, target) {
  const name = target.legendFormat.replace(/{{(\w+)}}/g, (_, label) => series.metric[label] ?? '');
  return toDataFrame({refId: target.refId, name, fields: [
    {name: 'Time', type: FieldType.time, values: series.values.map(([at]) => at * 1000), config: {interval: STEP_S * 1000}},
    {name: 'Value', type: FieldType.number, labels: series.metric, values: series.values.map(([, value]) => Number(value)),
      config: {displayNameFromDS: name}},
  ]});
}

async function framesOf(panel) {
  const frames = [];
  for (const target of panel.targets) {
    const query = target.expr.replaceAll('$system', '.*');
    if (target.format === 'table') {
      const rows = await ask('/query', {query, time: to});
      if (rows.length) frames.push(tableFrame(rows, target.refId));
    } else {
      const found = await ask('/query_range', {query, start: from, end: to, step: STEP_S});
      frames.push(...found.map((series) => seriesFrame(series, target)));
    }
  }
  if (!panel.transformations || !frames.length) return frames;
  return new Promise((done) => transformDataFrame(panel.transformations, frames).subscribe(done));
}

// The settings of fields, which Grafana's panels register and its libraries do not.
function configured(panel, data) {
  const frames = applyFieldOverrides({data, fieldConfig: panel.fieldConfig, replaceVariables: (text) => text, theme, timeZone: TIME_ZONE});
  const {custom, ...standard} = panel.fieldConfig.defaults;
  let seriesIndex = 0;
  for (const frame of frames) for (const field of frame.fields) {
    if (field.type === FieldType.number) {
      Object.assign(field.config, standard);
      field.config.custom = {...custom, ...field.config.custom};
      field.state = {...field.state, seriesIndex: seriesIndex++};
    }
    for (const {matcher, properties} of panel.fieldConfig.overrides) {
      const wanted = matcher.id === 'byFrameRefID' ? frame.refId : getFieldDisplayName(field, frame, frames);
      if (wanted !== matcher.options || field.type === FieldType.time) continue;
      for (const {id, value} of properties) {
        if (id.startsWith('custom.')) field.config.custom = {...field.config.custom, [id.slice(7)]: value};
        else field.config[id] = value;
      }
    }
    field.display = getDisplayProcessor({field, theme, timeZone: TIME_ZONE});
  }
  return frames;
}

function Body({panel, data, width, height}) {
  const frames = configured(panel, data);
  const range = {from: {valueOf: () => from * 1000}, to: {valueOf: () => to * 1000}};
  if (!frames.length) return <div style={{padding: 20, textAlign: 'center', color: theme.colors.text.secondary}}>No data</div>;
  if (panel.type === 'table') {
    return <TableNG data={frames[0]} width={width} height={height} initialSortBy={panel.options.sortBy} structureRev={1}
      fieldConfig={panel.fieldConfig} cellHeight="sm" getActions={() => []} timeRange={range}/>;
  }
  if (panel.type === 'stat') {
    const values = getFieldDisplayValues({fieldConfig: panel.fieldConfig, reduceOptions: panel.options.reduceOptions,
      replaceVariables: (text) => text, theme, data: frames, timeZone: TIME_ZONE});
    return values.map((value, index) => <BigValue key={index} theme={theme} value={value.display} width={width / values.length}
      height={height} colorMode={BigValueColorMode.Background} graphMode={BigValueGraphMode.None}
      textMode={panel.options.textMode} justifyMode={BigValueJustifyMode.Auto} count={values.length}/>);
  }
  return <TimeSeries frames={frames} timeRange={range} timeZone={TIME_ZONE} width={width} height={height}
    legend={panel.options.legend} options={panel.options}>{() => null}</TimeSeries>;
}

function fail(error) {
  document.title = 'error';
  document.body.innerText += `\n${error?.stack ?? error}`;
}
window.onerror = (text, source, line, column, error) => fail(error ?? text);
window.onunhandledrejection = (event) => fail(event.reason);

const panels = dashboard.panels.filter((panel) => panel.type !== 'state-timeline');
Promise.all(panels.map(framesOf)).then((found) => {
  createRoot(document.getElementById('root')).render(
    <ThemeContext.Provider value={theme}><GlobalStyles/>
      <div style={{position: 'relative', width: WIDTH}}>{panels.map((panel, index) => {
        const {x, y, w, h} = panel.gridPos, width = w * CELL - 8, height = h * ROW - 8;
        return <div key={panel.id} style={{position: 'absolute', left: x * CELL, top: y * ROW, width, height}}>
          <PanelChrome width={width} height={height} title={panel.title} padding="md">{(innerWidth, innerHeight) =>
            <Body panel={panel} data={found[index]} width={innerWidth} height={innerHeight}/>}</PanelChrome>
        </div>;
      })}</div>
    </ThemeContext.Provider>);
  setTimeout(() => { document.title = document.title || 'drawn'; }, 2500);
});
