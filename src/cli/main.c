/* skiff: finds the command and runs it (command.c). */
#include "cli/command.h"

int main(int argc, char **argv)
{
    return command_main(argc, argv);
}
