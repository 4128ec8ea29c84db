import { type Command, Help, type HelpConfiguration, type Option } from 'commander';

const usual = new Help();

const required = (command: Command) => command.options.filter(({ mandatory }) => mandatory);

/** Required options are in the usage line, and marked in the list of options. */
export const help: HelpConfiguration = {
  commandUsage: (command) => {
    const flags = required(command).map((option) => option.flags);
    return usual.commandUsage(command).replace('[options]', ['[options]', ...flags].join(' '));
  },
  optionDescription: (option: Option) => {
    const description = usual.optionDescription(option);
    return option.mandatory ? `${description} (required)` : description;
  },
};
